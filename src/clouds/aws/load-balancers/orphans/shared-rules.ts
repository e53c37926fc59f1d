import type { LoadBalancerDescription } from "@aws-sdk/client-elastic-load-balancing";
import type { LoadBalancer, TargetGroup } from "@aws-sdk/client-elastic-load-balancing-v2";
import { isOfAnotherCluster } from "#clouds/aws/load-balancers/ownership.ts";
import type { SecurityGroupState } from "#clouds/aws/load-balancers/state.ts";

/** Facts that an audit reads about rules shared by several load balancers, as JSON. */
export interface SharedRulesState {
  /**
   * Security groups of the VPC except those of other clusters; `isNodeSecurityGroup` tells which belong to
   * nodes.
   */
  readonly groups: readonly SecurityGroupState[];
  /** Ports of health checks, each with the load balancers whose targets are checked there. */
  readonly checkedPorts: readonly { readonly port: number; readonly users: readonly string[] }[];
  /** Security groups on load balancers of ELBv2. */
  readonly networkGroups: readonly string[];
  /** Security groups on classic load balancers. */
  readonly classicGroups: readonly string[];
  /** The ones on classic load balancers of the cluster's Services. */
  readonly ownClassicGroups: readonly string[];
}

/** Resources listed in the account and region. */
export interface ListedForRules {
  readonly clusterTag: string;
  readonly groups: readonly SecurityGroupState[];
  readonly networks: readonly LoadBalancer[];
  readonly classics: readonly LoadBalancerDescription[];
  readonly targetGroups: readonly TargetGroup[];
  /** Names of the classic load balancers of the cluster's Services. */
  readonly ownClassics: ReadonlySet<string>;
  /** ARNs of load balancers and target groups with another cluster's tag. Its nodes have other security groups, at the same node ports. */
  readonly foreignIds: ReadonlySet<string>;
}

/**
 * Returns the users of shared rules: every load balancer counts, whatever manages it, unless it is another
 * cluster's.
 */
export function readSharedRules(listed: ListedForRules): SharedRulesState {
  const { clusterTag, groups, networks, classics, targetGroups, ownClassics, foreignIds } = listed;
  const users = new Map<number, Set<string>>();
  for (const { HealthCheckPort, Port, TargetGroupArn = "", LoadBalancerArns = [] } of targetGroups) {
    const port = HealthCheckPort === "traffic-port" ? Port : Number(HealthCheckPort);
    if (port === undefined || !Number.isInteger(port)) continue;
    const all = LoadBalancerArns.length === 0 ? [TargetGroupArn] : LoadBalancerArns;
    const relevantUsers = all.filter((user) => !foreignIds.has(user));
    if (relevantUsers.length === 0) continue;
    const usersOfPort = users.get(port) ?? new Set();
    users.set(port, usersOfPort);
    for (const user of relevantUsers) usersOfPort.add(user);
  }
  const listGroups = (all: readonly LoadBalancerDescription[]): string[] => [
    ...new Set(all.flatMap(({ SecurityGroups = [] }) => SecurityGroups)),
  ];
  return {
    groups: groups.filter(({ tags }) => !isOfAnotherCluster(tags, clusterTag)),
    checkedPorts: [...users].map(([port, of]) => ({ port, users: [...of] })),
    networkGroups: [...new Set(networks.flatMap(({ SecurityGroups = [] }) => SecurityGroups))],
    classicGroups: listGroups(classics),
    ownClassicGroups: listGroups(classics.filter(({ LoadBalancerName: name = "" }) => ownClassics.has(name))),
  };
}
