import type { TargetGroup } from "@aws-sdk/client-elastic-load-balancing-v2";
import { awsAction } from "#clouds/aws/load-balancers/actions.ts";
import { targetGroupName, targetGroupPrefix } from "#clouds/aws/load-balancers/names.ts";
import { attributeMark } from "#clouds/aws/load-balancers/network/attribute-mark.ts";
import type { NetworkContext } from "#clouds/aws/load-balancers/network/context.ts";
import { isOwnBalancer } from "#clouds/aws/load-balancers/network/own-balancer.ts";
import type { PortWanted } from "#clouds/aws/load-balancers/network/ports.ts";
import { checkOwnership } from "#clouds/aws/load-balancers/ownership.ts";
import type { TargetGroupState } from "#clouds/aws/load-balancers/state.ts";
import { tagList, wantedTags } from "#clouds/aws/load-balancers/tags.ts";
import type { Whose } from "#clouds/aws/load-balancers/whose.ts";
import type { LoadBalancerAction } from "#core/service/model.ts";

/** A port with the target group that is there for it already. */
export interface MatchedPort {
  readonly port: PortWanted;
  readonly group: TargetGroupState | undefined;
}

/**
 * Target groups of this Service that no other load balancer uses: by their tags, or, of those on its load balancer that nobody's
 * tags are on, by how their names begin.
 */
export function ownTargetGroups(whose: Whose): readonly TargetGroupState[] {
  const { owner, state } = whose;
  const arn = isOwnBalancer(whose) ? state.network?.loadBalancer.LoadBalancerArn : undefined;
  return state.targetGroups.filter(({ group, tags }) => {
    const users = group.LoadBalancerArns ?? [];
    if (users.some((user) => user !== arn)) return false;
    const belonging = checkOwnership(tags, owner);
    if (belonging === "service") return true;
    const isNamed = group.TargetGroupName?.startsWith(targetGroupPrefix(owner.namespace, owner.name));
    return belonging === "nobody" && users.length > 0 && isNamed === true;
  });
}

/** Those that its load balancer sends to, by what AWS shows of themselves. */
export function groupsInUse(whose: Whose): readonly TargetGroupState[] {
  return ownTargetGroups(whose).filter(({ group }) => (group.LoadBalancerArns ?? []).length > 0);
}

/**
 * Finds for each port a target group that can serve it: the one that its listener sends to, one of the derived name, or any other. None
 * serves two ports, as in the stock controller.
 */
export function matchPorts(context: NetworkContext): readonly MatchedPort[] {
  const { wanted, state } = context;
  const free = new Set(ownTargetGroups(context));
  const found = new Map<PortWanted, TargetGroupState>();
  const preferences: readonly ((port: PortWanted, group: TargetGroupState) => boolean)[] = [
    ({ port }, { group }) => state.network !== undefined && targetOf(state.network, port) === arnOf(group),
    (port, { group }) => group.TargetGroupName === nameOf(port, context),
    () => true,
  ];
  for (const isPreferred of preferences) {
    for (const port of wanted.ports) {
      if (found.has(port)) continue;
      const match = [...free]
        .filter((each) => serves(each.group, port, context) && isPreferred(port, each))
        .toSorted((one, other) => (arnOf(one.group) < arnOf(other.group) ? -1 : 1))[0];
      if (match === undefined) continue;
      free.delete(match);
      found.set(port, match);
    }
  }
  return wanted.ports.map((port) => ({ port, group: found.get(port) }));
}

/** Makes the target groups that ports lack. */
export function createTargetGroups(
  matched: readonly MatchedPort[],
  context: NetworkContext,
): readonly LoadBalancerAction[] {
  const taken = new Set(context.state.targetGroups.map(({ group }) => group.TargetGroupName));
  const { wanted, state, owner } = context;
  const { healthCheck } = wanted;
  return matched.flatMap(({ port, group }) => {
    if (group !== undefined) return [];
    const name = freeName(port, context, taken);
    taken.add(name);
    return awsAction("elbv2:CreateTargetGroup", name, {
      Name: name,
      VpcId: vpcOf(context),
      Port: port.nodePort,
      Protocol: port.targetProtocol,
      TargetType: "instance",
      ...(wanted.families.targets === "ipv6" ? { IpAddressType: "ipv6" } : {}),
      HealthCheckProtocol: healthCheck.protocol,
      HealthCheckPort: healthCheck.port,
      ...(healthCheck.path === undefined ? {} : { HealthCheckPath: healthCheck.path }),
      HealthCheckIntervalSeconds: healthCheck.intervalSeconds,
      HealthCheckTimeoutSeconds: healthCheck.timeoutSeconds,
      HealthyThresholdCount: healthCheck.healthyThreshold,
      UnhealthyThresholdCount: healthCheck.unhealthyThreshold,
      Tags: tagList({ ...wantedTags(owner), ...attributeMark(wanted.targetGroupAttributes) }),
    });
  });

  function freeName(port: PortWanted, of: NetworkContext, names: ReadonlySet<string | undefined>): string {
    for (let turn = 0; ; turn += 1) {
      const name = nameOf(port, of, turn === 0 ? undefined : `${of.owner.uid}${turn}`);
      // There are never more than a few hundred names, of which each turn's is another.
      if (!names.has(name) || turn > state.targetGroups.length + wanted.ports.length) return name;
    }
  }
}

/** Sets right what of target groups can be changed in place; the stock controller makes new ones for some of it. */
export function modifyTargetGroups(
  matched: readonly MatchedPort[],
  { wanted }: NetworkContext,
): readonly LoadBalancerAction[] {
  const { healthCheck } = wanted;
  return matched.flatMap(({ group: state }) => {
    if (state === undefined) return [];
    const { group } = state;
    const changed = {
      ...differing("HealthCheckPort", group.HealthCheckPort, healthCheck.port),
      ...differing("HealthCheckPath", group.HealthCheckPath, healthCheck.path),
      ...differing(
        "HealthCheckIntervalSeconds",
        group.HealthCheckIntervalSeconds,
        healthCheck.intervalSeconds,
      ),
      ...differing("HealthCheckTimeoutSeconds", group.HealthCheckTimeoutSeconds, healthCheck.timeoutSeconds),
      ...differing("HealthyThresholdCount", group.HealthyThresholdCount, healthCheck.healthyThreshold),
      ...differing("UnhealthyThresholdCount", group.UnhealthyThresholdCount, healthCheck.unhealthyThreshold),
    };
    if (Object.keys(changed).length === 0) return [];
    const TargetGroupArn = arnOf(group);
    return awsAction("elbv2:ModifyTargetGroup", TargetGroupArn, { TargetGroupArn, ...changed });
  });
}

/** Where a target group is found again. */
export function arnOf({ TargetGroupArn }: TargetGroup): string {
  return TargetGroupArn ?? "";
}

/** The target group that the listener of a port sends to. */
export function targetOf(
  { listeners }: NonNullable<NetworkContext["state"]["network"]>,
  port: number,
): string | undefined {
  return listeners.find(({ listener }) => listener.Port === port)?.listener.DefaultActions?.[0]
    ?.TargetGroupArn;
}

/** Whether a target group can serve a port, perhaps after a change in place: what is compared here AWS cannot change. */
function serves(group: TargetGroup, port: PortWanted, context: NetworkContext): boolean {
  return (
    group.Protocol === port.targetProtocol &&
    group.Port === port.nodePort &&
    group.TargetType === "instance" &&
    (group.IpAddressType ?? "ipv4") === context.wanted.families.targets &&
    group.HealthCheckProtocol === context.wanted.healthCheck.protocol &&
    group.VpcId === vpcOf(context)
  );
}

function vpcOf({ state }: NetworkContext): string {
  return state.network?.loadBalancer.VpcId ?? state.vpc.id;
}

function nameOf(port: PortWanted, { owner, wanted }: NetworkContext, salt?: string): string {
  return targetGroupName({
    ...owner,
    servicePort: port.port,
    nodePort: port.nodePort,
    protocol: port.targetProtocol,
    targetType: wanted.families.targets === "ipv6" ? "instanceipv6" : "instance",
    healthCheckProtocol: wanted.healthCheck.protocol,
    healthCheckIntervalSeconds: wanted.healthCheck.intervalSeconds,
    salt,
  });
}

function differing<Key extends string, Value>(
  key: Key,
  actual: Value | undefined,
  wanted: Value | undefined,
): { readonly [_ in Key]?: Value } {
  return wanted === undefined || actual === wanted ? {} : ({ [key]: wanted } as { [_ in Key]: Value });
}
