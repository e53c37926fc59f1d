import { formatAnnotationName } from "#clouds/aws/load-balancers/annotations/read-annotations.ts";
import { getIdentity } from "#clouds/aws/load-balancers/configuration.ts";
import type { LoadBalancerContext } from "#clouds/aws/load-balancers/context.ts";
import type { NetworkContext } from "#clouds/aws/load-balancers/network/context.ts";
import type { NetworkDesiredState } from "#clouds/aws/load-balancers/network/desired-state.ts";
import {
  buildPathMtuOpenings,
  hasFrontendGroups,
  listTransports,
} from "#clouds/aws/load-balancers/network/groups.ts";
import { KUBE_PROXY } from "#clouds/aws/load-balancers/network/health-check.ts";
import { type Families, listAllClients } from "#clouds/aws/load-balancers/network/ports.ts";
import {
  buildSharedGroupOpenings,
  isInNodePortRange,
} from "#clouds/aws/load-balancers/network/shared-group.ts";
import type { SubnetState } from "#clouds/aws/load-balancers/state.ts";
import type { Opening, PlanResult } from "#clouds/aws/load-balancers/types.ts";
import {
  CLIENT_RULE,
  HEALTH_RULE,
  MTU_RULE,
  planNodeRules,
  SHARED_HEALTH_RULE,
  SHARED_RULE,
  selectNodeGroups,
  spreadNodeRules,
} from "#clouds/aws/load-balancers/vpc/node-rules.ts";
import { parsePermissions, type Rule } from "#clouds/aws/load-balancers/vpc/rules.ts";
import { isIPv6Network } from "#core/cidr.ts";
import type { Issue, LoadBalancerAction } from "#core/service/model.ts";

/** The source of the traffic from a load balancer to its targets. */
export interface TrafficSource {
  readonly subnets: readonly SubnetState[];
  readonly families: Families;
  /** The id of the attached security group that all of the cluster's load balancers share. */
  readonly sharedSecurityGroupId?: string | undefined;
}

/**
 * Plans the rules for a load balancer on the nodes' security groups. The value lists the issues that prevent
 * rules on some nodes. `hasHiddenTargets`: as in `DesiredNodeRules`.
 */
export function planRules(
  instanceIds: readonly string[],
  source: TrafficSource,
  context: NetworkContext,
  hasHiddenTargets?: boolean,
): PlanResult<readonly Issue[]> {
  const { sharedSecurityGroupId } = source;
  const openings =
    sharedSecurityGroupId === undefined
      ? buildOpenings(source, context)
      : buildSharedOpenings(sharedSecurityGroupId, context);
  return plan(instanceIds, openings, context, { ...context.desired, hasHiddenTargets });
}

/** Copies a load balancer's existing rules to those security groups of its nodes that lack them. */
export function spreadRules(
  instanceIds: readonly string[],
  context: LoadBalancerContext,
): readonly LoadBalancerAction[] {
  const { name, settings, configuration, state } = context;
  const clientDescription = `${CLIENT_RULE}=${name}`;
  const descriptions = [clientDescription, `${HEALTH_RULE}=${name}`];
  const securityGroupIds = new Set(state.network?.loadBalancer.SecurityGroups);
  const clientPeers = new Set(
    selectNodeGroups(state.vpc, getIdentity(settings))
      .flatMap(({ ingress }) => parsePermissions(ingress))
      .flatMap(({ description, peer }) => (description === clientDescription ? [peer] : [])),
  );
  const healthCheckPorts = state.targetGroups.map(({ group: { HealthCheckPort } }) =>
    Number(HealthCheckPort),
  );
  const isChecked = (ports: Rule["ports"]): boolean =>
    ports !== undefined && healthCheckPorts.some((port) => ports[0] <= port && port <= ports[1]);
  const isNeeded = ({ description = "", from, peer, ports }: Rule): boolean =>
    descriptions.includes(description) ||
    (description === MTU_RULE && clientPeers.has(peer)) ||
    (description === SHARED_HEALTH_RULE && isChecked(ports)) ||
    (from === "group" && securityGroupIds.has(peer) && description === SHARED_RULE);
  const disabled = configuration.disableSecurityGroupIngress === true;
  return spreadNodeRules({ ...getIdentity(settings), disabled, instanceIds, isNeeded }, state.vpc);
}

/** Removes all rules of a load balancer. */
export function planRuleRemoval(
  context: LoadBalancerContext,
  ownPorts: readonly number[],
): PlanResult<readonly Issue[]> {
  return plan([], [], context, { ownPorts });
}

function plan(
  instanceIds: readonly string[],
  openings: readonly Opening[],
  { name, settings, configuration, state }: LoadBalancerContext,
  {
    ownPorts,
    hasHiddenTargets,
  }: { readonly ownPorts: readonly number[]; readonly hasHiddenTargets?: boolean | undefined },
): PlanResult<readonly Issue[]> {
  return planNodeRules(
    {
      ...getIdentity(settings),
      disabled: configuration.disableSecurityGroupIngress === true,
      instanceIds,
      hasHiddenTargets,
      openings,
      ownRules: {
        descriptions: [`${CLIENT_RULE}=${name}`, `${HEALTH_RULE}=${name}`],
        groupIds: [],
        ownPorts,
      },
    },
    state.vpc,
  );
}

/**
 * Builds rules for the source ranges of clients. Targets see a client's address if its family is theirs,
 * unless an attribute disables that. All other traffic, health checks included, comes from the load
 * balancer's own addresses: rules allow its subnets.
 */
function buildOpenings(
  { subnets, families }: TrafficSource,
  { desired, name }: NetworkContext,
): readonly Opening[] {
  const preservesClientIp = desired.targetGroupAttributes["preserve_client_ip.enabled"] !== "false";
  const isDualstack = families.loadBalancer === "dualstack";
  const subnetCidrs = subnets.flatMap((each) => listSubnetCidrs(each, families.targets));
  const ranges = (desired.sourceRanges ?? listAllClients(families)).filter(
    (range) => isDualstack || !isIPv6Network(range),
  );
  const allClients = families.targets === "ipv6" ? "::/0" : "0.0.0.0/0";
  const needsSubnets = (!preservesClientIp || isDualstack) && !ranges.includes(allClients);
  const cidrs = [...ranges, ...(needsSubnets ? subnetCidrs.filter((each) => !ranges.includes(each)) : [])];
  const description = `${CLIENT_RULE}=${name}`;
  const ports = listTargetPorts(desired);
  const healthCheckPorts = listHealthCheckPorts(desired);
  const tcpPorts = new Set(ports.filter(({ protocol }) => protocol === "tcp").map(({ port }) => port));
  // As in the stock controller: where all clients may reach the port, health checks need no rule.
  const isCovered = cidrs.includes(allClients) && [...healthCheckPorts].every((port) => tcpPorts.has(port));
  return [
    ...ports.map(({ protocol, port }): Opening => ({ protocol, ports: [port, port], cidrs, description })),
    ...(isCovered
      ? []
      : [...healthCheckPorts].map(
          (port): Opening => ({
            protocol: "tcp",
            ports: [port, port],
            cidrs: subnetCidrs,
            description: describeHealthRule(port, desired, name),
          }),
        )),
    ...buildPathMtuOpenings(cidrs).map((opening): Opening => ({ ...opening, description: MTU_RULE })),
  ];
}

/**
 * Builds rules for a shared security group. One rule per protocol allows the cluster's node port range for
 * all Services. A Service has its own rules only for ports outside that range.
 */
function buildSharedOpenings(
  groupId: string,
  { desired, name, configuration }: NetworkContext,
): readonly Opening[] {
  const hasSharedProbe = configuration.clusterServiceLoadBalancerHealthProbeMode === "Shared";
  const probePort = configuration.clusterServiceSharedLoadBalancerHealthProbePort ?? KUBE_PROXY.port;
  const openOutsideRange = (protocol: string, port: number, description: string): Opening[] =>
    isInNodePortRange(port, configuration)
      ? []
      : [{ protocol, ports: [port, port], groupIds: [groupId], description }];
  return [
    ...buildSharedGroupOpenings(groupId, hasSharedProbe ? probePort : undefined, configuration),
    ...listTargetPorts(desired).flatMap(({ protocol, port }) =>
      openOutsideRange(protocol, port, `${CLIENT_RULE}=${name}`),
    ),
    ...[...listHealthCheckPorts(desired)]
      .filter((port) => !(hasSharedProbe && port === probePort))
      .flatMap((port) => openOutsideRange("tcp", port, describeHealthRule(port, desired, name))),
  ];
}

/**
 * Returns the description of a health check rule. It names the load balancer if no other Service uses the
 * port; otherwise load balancers share the rule.
 */
function describeHealthRule(port: number, { ownPorts }: NetworkDesiredState, name: string): string {
  return ownPorts.includes(port) ? `${HEALTH_RULE}=${name}` : SHARED_HEALTH_RULE;
}

/** Lists the target ports with their protocols, without duplicates. */
function listTargetPorts({
  ports,
}: NetworkDesiredState): readonly { readonly protocol: string; readonly port: number }[] {
  const all = ports.flatMap(({ nodePort, targetProtocol }) =>
    listTransports(targetProtocol).map((protocol) => ({ protocol, port: nodePort })),
  );
  return [...new Map(all.map((each) => [`${each.protocol} ${each.port}`, each])).values()];
}

function listHealthCheckPorts({ ports, healthCheck }: NetworkDesiredState): ReadonlySet<number> {
  return new Set(
    ports.map(({ nodePort }) => (healthCheck.port === "traffic-port" ? nodePort : Number(healthCheck.port))),
  );
}

function listSubnetCidrs({ subnet }: SubnetState, family: Families["targets"]): readonly string[] {
  if (family === "ipv4") return subnet.CidrBlock === undefined ? [] : [subnet.CidrBlock];
  return (subnet.Ipv6CidrBlockAssociationSet ?? []).flatMap(({ Ipv6CidrBlock }) => Ipv6CidrBlock ?? []);
}

/**
 * Returns a warning if source ranges have no effect. They need targets that see clients' addresses, or a load
 * balancer with security groups. AWS attaches none to a load balancer that was created without them.
 */
export function checkSourceRanges(context: NetworkContext): readonly Issue[] {
  const { families, sourceRanges, targetGroupAttributes } = context.desired;
  const hidesClientIp = targetGroupAttributes["preserve_client_ip.enabled"] === "false";
  const allClients = families.loadBalancer === "dualstack" ? ["0.0.0.0/0", "::/0"] : ["0.0.0.0/0"];
  const allowsAllClients =
    sourceRanges === undefined || allClients.every((each) => sourceRanges.includes(each));
  if (!hidesClientIp || allowsAllClients || hasFrontendGroups(context)) return [];
  return [
    {
      code: "InvalidAnnotation",
      field: formatAnnotationName("target-group-attributes"),
      value: "preserve_client_ip.enabled=false",
      allowed:
        "preserve_client_ip.enabled=true if source ranges are limited (otherwise all clients have access)",
    },
  ];
}
