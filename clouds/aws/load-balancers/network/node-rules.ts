import { identityFor } from "#clouds/aws/load-balancers/configuration.ts";
import type { NetworkContext } from "#clouds/aws/load-balancers/network/context.ts";
import { everybody, type Families } from "#clouds/aws/load-balancers/network/families.ts";
import { tooLarge, transports } from "#clouds/aws/load-balancers/network/groups.ts";
import { KUBE_PROXY } from "#clouds/aws/load-balancers/network/health-check.ts";
import { isNodePort, openingsOfShared } from "#clouds/aws/load-balancers/network/shared-group.ts";
import type { NetworkWanted } from "#clouds/aws/load-balancers/network/wanted.ts";
import type { Opening, Piece } from "#clouds/aws/load-balancers/pieces.ts";
import type { SubnetState } from "#clouds/aws/load-balancers/state.ts";
import {
  CLIENT_RULE,
  HEALTH_RULE,
  MTU_RULE,
  nodeGroupsIn,
  planNodeRules,
  SHARED_HEALTH_RULE,
  SHARED_RULE,
  spreadNodeRules,
} from "#clouds/aws/load-balancers/vpc/node-rules.ts";
import { type Rule, rulesOf } from "#clouds/aws/load-balancers/vpc/rules.ts";
import type { Whose } from "#clouds/aws/load-balancers/whose.ts";
import { isIPv6Network } from "#core/cidr.ts";
import type { LoadBalancerAction, Problem } from "#core/service/model.ts";

/** From where a load balancer's traffic comes. */
export interface Sender {
  readonly subnets: readonly SubnetState[];
  readonly families: Families;
  /** The security group on it that all of the cluster's load balancers share. */
  readonly sharedId?: string | undefined;
}

/** What is let in on the security groups of nodes for a load balancer, and of it what is not there yet. */
export function planRules(
  instanceIds: readonly string[],
  sender: Sender,
  context: NetworkContext,
): Piece<readonly Problem[]> {
  const { sharedId } = sender;
  const openings =
    sharedId === undefined ? openingsOf(sender, context) : openingsFromShared(sharedId, context);
  return plan(instanceIds, openings, context, context.wanted.ownPorts);
}

/** Lets a load balancer in on groups of nodes that are new to it, by the rules that it has on others. */
export function spreadRules(instanceIds: readonly string[], whose: Whose): readonly LoadBalancerAction[] {
  const { name, settings, configuration, state } = whose;
  const own = [`${CLIENT_RULE}=${name}`, `${HEALTH_RULE}=${name}`];
  const fronts = new Set(state.network?.loadBalancer.SecurityGroups);
  const clients = new Set(
    nodeGroupsIn(state.vpc, identityFor(settings))
      .flatMap(({ ingress }) => rulesOf(ingress))
      .flatMap(({ description, peer }) => (description === own[0] ? [peer] : [])),
  );
  const checked = state.targetGroups.map(({ group: { HealthCheckPort } }) => Number(HealthCheckPort));
  const isChecked = (ports: Rule["ports"]): boolean =>
    ports !== undefined && checked.some((port) => ports[0] <= port && port <= ports[1]);
  const isNeeded = ({ description = "", from, peer, ports }: Rule): boolean =>
    own.includes(description) ||
    (description === MTU_RULE && clients.has(peer)) ||
    (description === SHARED_HEALTH_RULE && isChecked(ports)) ||
    (from === "group" && fronts.has(peer) && description === SHARED_RULE);
  const disabled = configuration.disableSecurityGroupIngress === true;
  return spreadNodeRules({ ...identityFor(settings), disabled, instanceIds, isNeeded }, state.vpc);
}

/** Takes everything away that was let in for a load balancer. */
export function removeRules(whose: Whose, ownPorts: readonly number[]): Piece<readonly Problem[]> {
  return plan([], [], whose, ownPorts);
}

function plan(
  instanceIds: readonly string[],
  openings: readonly Opening[],
  { name, settings, configuration, state }: Whose,
  ownPorts: readonly number[],
): Piece<readonly Problem[]> {
  return planNodeRules(
    {
      ...identityFor(settings),
      disabled: configuration.disableSecurityGroupIngress === true,
      instanceIds,
      openings,
      mine: { descriptions: [`${CLIENT_RULE}=${name}`, `${HEALTH_RULE}=${name}`], groupIds: [], ownPorts },
    },
    state.vpc,
  );
}

/**
 * By clients' addresses where targets see these: in the target's own family, and not where an attribute hides them. What the load
 * balancer sends from its own addresses, which health checks are, too, comes from its subnets.
 */
function openingsOf({ subnets, families }: Sender, { wanted, name }: NetworkContext): readonly Opening[] {
  const isSeen = wanted.targetGroupAttributes["preserve_client_ip.enabled"] !== "false";
  const isTranslated = families.loadBalancer === "dualstack";
  const own = subnets.flatMap((each) => networksOf(each, families.targets));
  const ranges = (wanted.sourceRanges ?? everybody(families)).filter(
    (range) => families.loadBalancer === "dualstack" || !isIPv6Network(range),
  );
  const everyone = families.targets === "ipv6" ? "::/0" : "0.0.0.0/0";
  const needsOwn = (!isSeen || isTranslated) && !ranges.includes(everyone);
  const clients = [...ranges, ...(needsOwn ? own.filter((each) => !ranges.includes(each)) : [])];
  const description = `${CLIENT_RULE}=${name}`;
  const ports = portsOf(wanted);
  const health = healthPortsOf(wanted);
  const open = new Set(ports.filter(({ protocol }) => protocol === "tcp").map(({ port }) => port));
  // As in the stock controller: where everybody may come to the same ports, health checks may.
  const isCovered = clients.includes(everyone) && [...health].every((port) => open.has(port));
  return [
    ...ports.map(
      ({ protocol, port }): Opening => ({ protocol, ports: [port, port], cidrs: clients, description }),
    ),
    ...(isCovered
      ? []
      : [...health].map(
          (port): Opening => ({
            protocol: "tcp",
            ports: [port, port],
            cidrs: own,
            description: healthRule(port, wanted, name),
          }),
        )),
    ...tooLarge(clients).map((opening): Opening => ({ ...opening, description: MTU_RULE })),
  ];
}

/** One rule for each protocol does for all Services; this one's own are for ports that are none of the cluster's node ports. */
function openingsFromShared(id: string, { wanted, name, configuration }: NetworkContext): readonly Opening[] {
  const isProbed = configuration.clusterServiceLoadBalancerHealthProbeMode === "Shared";
  const probed = configuration.clusterServiceSharedLoadBalancerHealthProbePort ?? KUBE_PROXY.port;
  const from = (protocol: string, port: number, description: string): Opening[] =>
    isNodePort(port, configuration) ? [] : [{ protocol, ports: [port, port], groupIds: [id], description }];
  return [
    ...openingsOfShared(id, isProbed ? probed : undefined, configuration),
    ...portsOf(wanted).flatMap(({ protocol, port }) => from(protocol, port, `${CLIENT_RULE}=${name}`)),
    ...[...healthPortsOf(wanted)]
      .filter((port) => !(isProbed && port === probed))
      .flatMap((port) => from("tcp", port, healthRule(port, wanted, name))),
  ];
}

/** Returns how a rule for health checks is described: by its load balancer at ports that are one Service's alone. */
function healthRule(port: number, { ownPorts }: NetworkWanted, name: string): string {
  return ownPorts.includes(port) ? `${HEALTH_RULE}=${name}` : SHARED_HEALTH_RULE;
}

/** Each once. */
function portsOf({ ports }: NetworkWanted): readonly { readonly protocol: string; readonly port: number }[] {
  const all = ports.flatMap(({ nodePort, targetProtocol }) =>
    transports(targetProtocol).map((protocol) => ({ protocol, port: nodePort })),
  );
  return [...new Map(all.map((each) => [`${each.protocol} ${each.port}`, each])).values()];
}

function healthPortsOf({ ports, healthCheck }: NetworkWanted): ReadonlySet<number> {
  return new Set(
    ports.map(({ nodePort }) => (healthCheck.port === "traffic-port" ? nodePort : Number(healthCheck.port))),
  );
}

function networksOf({ subnet }: SubnetState, family: Families["targets"]): readonly string[] {
  if (family === "ipv4") return subnet.CidrBlock === undefined ? [] : [subnet.CidrBlock];
  return (subnet.Ipv6CidrBlockAssociationSet ?? []).flatMap(({ Ipv6CidrBlock }) => Ipv6CidrBlock ?? []);
}
