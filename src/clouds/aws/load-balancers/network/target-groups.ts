import type { TargetGroup } from "@aws-sdk/client-elastic-load-balancing-v2";
import { buildAction } from "#clouds/aws/load-balancers/actions.ts";
import type { LoadBalancerContext } from "#clouds/aws/load-balancers/context.ts";
import { formatTargetGroupName, formatTargetGroupPrefix } from "#clouds/aws/load-balancers/names.ts";
import { isOwnBalancer, type NetworkContext } from "#clouds/aws/load-balancers/network/context.ts";
import type { DesiredPort } from "#clouds/aws/load-balancers/network/ports.ts";
import { checkOwnership } from "#clouds/aws/load-balancers/ownership.ts";
import type { Pairs, TargetGroupState } from "#clouds/aws/load-balancers/state.ts";
import { buildServiceTags, toTagList } from "#clouds/aws/load-balancers/tags.ts";
import type { LoadBalancerAction } from "#core/service/model.ts";

/** A port with its existing target group. */
export interface MatchedPort {
  readonly port: DesiredPort;
  readonly group: TargetGroupState | undefined;
}

/**
 * Lists this Service's target groups that no other load balancer uses: by their tags, or by name prefix for
 * untagged ones on its load balancer.
 */
export function listOwnTargetGroups(context: LoadBalancerContext): readonly TargetGroupState[] {
  const { owner, state } = context;
  const arn = isOwnBalancer(context) ? state.network?.loadBalancer.LoadBalancerArn : undefined;
  return state.targetGroups.filter(({ group, tags }) => {
    const users = group.LoadBalancerArns ?? [];
    if (users.some((user) => user !== arn)) return false;
    const ownership = checkOwnership(tags, owner);
    if (ownership === "service") return true;
    const isNamed = group.TargetGroupName?.startsWith(formatTargetGroupPrefix(owner.namespace, owner.name));
    return ownership === "unclaimed" && users.length > 0 && isNamed === true;
  });
}

/** Lists the target groups that its load balancer uses, as AWS shows them. */
export function listUsedTargetGroups(context: LoadBalancerContext): readonly TargetGroupState[] {
  return listOwnTargetGroups(context).filter(({ group }) => (group.LoadBalancerArns ?? []).length > 0);
}

/**
 * Finds for each port a suitable target group: the one of its listener, one of the derived name, or any
 * other. No group serves two ports, as in the stock controller.
 */
export function matchPorts(context: NetworkContext): readonly MatchedPort[] {
  const { desired, state } = context;
  const unmatched = new Set(listOwnTargetGroups(context));
  const found = new Map<DesiredPort, TargetGroupState>();
  const preferences: readonly ((port: DesiredPort, group: TargetGroupState) => boolean)[] = [
    ({ port }, { group }) =>
      state.network !== undefined &&
      findListenerTargetGroup(state.network, port) === getTargetGroupArn(group),
    (port, { group }) => group.TargetGroupName === buildTargetGroupName(port, context),
    () => true,
  ];
  for (const isPreferred of preferences) {
    for (const port of desired.ports) {
      if (found.has(port)) continue;
      const match = [...unmatched]
        .filter((each) => canServe(each.group, port, context) && isPreferred(port, each))
        .toSorted((one, other) =>
          getTargetGroupArn(one.group) < getTargetGroupArn(other.group) ? -1 : 1,
        )[0];
      if (match === undefined) continue;
      unmatched.delete(match);
      found.set(port, match);
    }
  }
  return desired.ports.map((port) => ({ port, group: found.get(port) }));
}

/** Returns the actions that create the missing target groups of ports. */
export function planTargetGroupCreation(
  matched: readonly MatchedPort[],
  context: NetworkContext,
): readonly LoadBalancerAction[] {
  const usedNames = new Set(context.state.targetGroups.map(({ group }) => group.TargetGroupName));
  const { desired, state, owner } = context;
  const { healthCheck } = desired;
  return matched.flatMap(({ port, group }) => {
    if (group !== undefined) return [];
    const name = findFreeName(port, context, usedNames);
    usedNames.add(name);
    return buildAction("elbv2:CreateTargetGroup", name, {
      Name: name,
      VpcId: getVpcId(context),
      Port: port.nodePort,
      Protocol: port.targetProtocol,
      TargetType: "instance",
      ...(desired.families.targets === "ipv6" ? { IpAddressType: "ipv6" } : {}),
      HealthCheckProtocol: healthCheck.protocol,
      HealthCheckPort: healthCheck.port,
      ...(healthCheck.path === undefined ? {} : { HealthCheckPath: healthCheck.path }),
      HealthCheckIntervalSeconds: healthCheck.intervalSeconds,
      HealthCheckTimeoutSeconds: healthCheck.timeoutSeconds,
      HealthyThresholdCount: healthCheck.healthyThreshold,
      UnhealthyThresholdCount: healthCheck.unhealthyThreshold,
      Tags: toTagList({ ...buildServiceTags(owner), ...buildAttributeTag(desired.targetGroupAttributes) }),
    });
  });

  function findFreeName(
    port: DesiredPort,
    targetContext: NetworkContext,
    names: ReadonlySet<string | undefined>,
  ): string {
    for (let attempt = 0; ; attempt += 1) {
      const name = buildTargetGroupName(
        port,
        targetContext,
        attempt === 0 ? undefined : `${targetContext.owner.uid}${attempt}`,
      );
      // At most a few hundred names exist, and each attempt tries another one.
      if (!names.has(name) || attempt > state.targetGroups.length + desired.ports.length) return name;
    }
  }
}

/**
 * Plans changes of target groups in place as far as possible; the stock controller creates new ones for some changes.
 */
export function planTargetGroupChanges(
  matched: readonly MatchedPort[],
  { desired }: NetworkContext,
): readonly LoadBalancerAction[] {
  const { healthCheck } = desired;
  return matched.flatMap(({ group: state }) => {
    if (state === undefined) return [];
    const { group } = state;
    const changed = {
      ...getChange("HealthCheckPort", group.HealthCheckPort, healthCheck.port),
      ...getChange("HealthCheckPath", group.HealthCheckPath, healthCheck.path),
      ...getChange(
        "HealthCheckIntervalSeconds",
        group.HealthCheckIntervalSeconds,
        healthCheck.intervalSeconds,
      ),
      ...getChange("HealthCheckTimeoutSeconds", group.HealthCheckTimeoutSeconds, healthCheck.timeoutSeconds),
      ...getChange("HealthyThresholdCount", group.HealthyThresholdCount, healthCheck.healthyThreshold),
      ...getChange("UnhealthyThresholdCount", group.UnhealthyThresholdCount, healthCheck.unhealthyThreshold),
    };
    if (Object.keys(changed).length === 0) return [];
    const TargetGroupArn = getTargetGroupArn(group);
    return buildAction("elbv2:ModifyTargetGroup", TargetGroupArn, { TargetGroupArn, ...changed });
  });
}

/** Returns the ARN that identifies a target group. */
export function getTargetGroupArn({ TargetGroupArn }: TargetGroup): string {
  return TargetGroupArn ?? "";
}

/** Returns the target group of a port's listener. */
export function findListenerTargetGroup(
  { listeners }: NonNullable<NetworkContext["state"]["network"]>,
  port: number,
): string | undefined {
  return listeners.find(({ listener }) => listener.Port === port)?.listener.DefaultActions?.[0]
    ?.TargetGroupArn;
}

/**
 * Whether a target group can serve a port, possibly after a change in place: AWS cannot change the fields
 * compared here.
 */
function canServe(group: TargetGroup, port: DesiredPort, context: NetworkContext): boolean {
  return (
    group.Protocol === port.targetProtocol &&
    group.Port === port.nodePort &&
    group.TargetType === "instance" &&
    (group.IpAddressType ?? "ipv4") === context.desired.families.targets &&
    group.HealthCheckProtocol === context.desired.healthCheck.protocol &&
    group.VpcId === getVpcId(context)
  );
}

function getVpcId({ state }: NetworkContext): string {
  return state.network?.loadBalancer.VpcId ?? state.vpc.id;
}

function buildTargetGroupName(port: DesiredPort, { owner, desired }: NetworkContext, salt?: string): string {
  return formatTargetGroupName({
    ...owner,
    servicePort: port.port,
    nodePort: port.nodePort,
    protocol: port.targetProtocol,
    targetType: desired.families.targets === "ipv6" ? "instanceipv6" : "instance",
    healthCheckProtocol: desired.healthCheck.protocol,
    healthCheckIntervalSeconds: desired.healthCheck.intervalSeconds,
    salt,
  });
}

function getChange<Key extends string, Value>(
  key: Key,
  actual: Value | undefined,
  desired: Value | undefined,
): { readonly [_ in Key]?: Value } {
  return desired === undefined || actual === desired ? {} : ({ [key]: desired } as { [_ in Key]: Value });
}

/**
 * The tag that names the attributes set by the annotation `target-group-attributes`. Only these return to
 * AWS's default when the annotation no longer names them; attributes that others set stay.
 */
export const SET_ATTRIBUTES = "serverless-ccm.io/target-group-attributes";

/** Builds the tag for attributes that are set; empty without any. */
export function buildAttributeTag(attributes: Pairs): Pairs {
  const keys = Object.keys(attributes).sort();
  return keys.length === 0 ? {} : { [SET_ATTRIBUTES]: keys.join(" ") };
}

/** Parses the names of attributes in the tag. */
export function parseAttributeTag(tags: Pairs): readonly string[] {
  return (tags[SET_ATTRIBUTES] ?? "")
    .split(" ")
    .filter((key) => Object.hasOwn(TARGET_GROUP_ATTRIBUTE_DEFAULTS, key));
}

/** AWS's defaults for target groups of instances. */
export const TARGET_GROUP_ATTRIBUTE_DEFAULTS: Pairs = {
  "preserve_client_ip.enabled": "true",
  "proxy_protocol_v2.enabled": "false",
};

/** Plans the deletion of our target groups that no port and no listener uses. */
export function planTargetGroupRemoval(
  matched: readonly MatchedPort[],
  used: ReadonlySet<string>,
  context: NetworkContext,
): readonly LoadBalancerAction[] {
  const keptArns = new Set(
    matched.flatMap(({ group }) => (group === undefined ? [] : [getTargetGroupArn(group.group)])),
  );
  return listOwnTargetGroups(context)
    .map(({ group }) => getTargetGroupArn(group))
    .filter((arn) => !keptArns.has(arn) && !used.has(arn))
    .map((arn) => buildAction("elbv2:DeleteTargetGroup", arn, { TargetGroupArn: arn }));
}
