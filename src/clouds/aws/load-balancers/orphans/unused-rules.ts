import type { LoadBalancerDescription } from "@aws-sdk/client-elastic-load-balancing";
import type { LoadBalancer, TargetGroup } from "@aws-sdk/client-elastic-load-balancing-v2";
import { buildAction } from "#clouds/aws/load-balancers/actions.ts";
import { getClusterTag, getConfiguration, getIdentity } from "#clouds/aws/load-balancers/configuration.ts";
import { findSharedGroupId } from "#clouds/aws/load-balancers/network/shared-group.ts";
import { isOfAnotherCluster } from "#clouds/aws/load-balancers/ownership.ts";
import type { SecurityGroupState } from "#clouds/aws/load-balancers/state.ts";
import { toTagList } from "#clouds/aws/load-balancers/tags.ts";
import {
  CLIENT_RULE,
  HEALTH_RULE,
  MTU_RULE,
  SHARED_CLASSIC_RULE,
  SHARED_HEALTH_RULE,
  SHARED_RULE,
  selectNodeGroups,
} from "#clouds/aws/load-balancers/vpc/node-rules.ts";
import { buildPermissions, parsePermissions, type Rule } from "#clouds/aws/load-balancers/vpc/rules.ts";
import type { LoadBalancerAction } from "#core/service/model.ts";
import type { Settings } from "#core/settings.ts";

/**
 * The tag with the time since which no load balancer has the security group shared by a cluster's network
 * load balancers.
 */
export const UNUSED_TAG = "serverless-ccm.io/unused-since";

/**
 * Grace period of a shared rule after it was first seen unused: longer than a new load balancer takes to
 * become visible.
 */
export const GRACE_MS = 600_000;

/**
 * Plans changes of shared rules on nodes' groups. An unused rule is first described as unused since now, and
 * removed by an audit after the grace period. A rule in use again gets its old description back. Rules of
 * older versions are re-described as shared in place, so that they exist at every moment.
 */
export function planUnusedRules(
  shared: unknown,
  now: Date,
  settings: Settings,
): readonly LoadBalancerAction[] {
  const configuration = getConfiguration(settings);
  // The operator manages rules on the nodes' groups then.
  if (configuration.disableSecurityGroupIngress === true) return [];
  // The observation comes from our own capability.
  const state = shared as SharedRulesState;
  const ruleActions = selectNodeGroups(state, getIdentity(settings)).flatMap((group) =>
    parsePermissions(group.ingress).flatMap((rule) => planRuleChange(rule, group, state, now)),
  );
  const groupActions = planGroupChange(state, getClusterTag(settings), now);
  return [...ruleActions, ...groupActions].slice(0, MAX_CHANGES);
}

/** Maximum per audit; the next one continues. */
const MAX_CHANGES = 40;

const UNUSED = " unused since ";

function planRuleChange(
  rule: Rule,
  { group: { GroupId: id = "" }, ingress }: SecurityGroupState,
  state: SharedRulesState,
  now: Date,
): readonly LoadBalancerAction[] {
  const [base = "", since] = (rule.description ?? "").split(UNUSED);
  if (base === "")
    return isAdopted(rule, state) ? [buildDescriptionUpdate(id, rule, SHARED_CLASSIC_RULE)] : [];
  const users = countUsers({ ...rule, description: base }, ingress, state);
  if (users === undefined) return [];
  if (users > 0) {
    const isShared = users > 1 && base.startsWith(`${HEALTH_RULE}=`);
    if (isShared) return [buildDescriptionUpdate(id, rule, SHARED_HEALTH_RULE)];
    return since === undefined ? [] : [buildDescriptionUpdate(id, rule, base)];
  }
  const sinceMs = Date.parse(since ?? "");
  if (Number.isNaN(sinceMs))
    return [buildDescriptionUpdate(id, rule, `${base}${UNUSED}${now.toISOString()}`)];
  if (now.getTime() - sinceMs < GRACE_MS) return [];
  const request = { GroupId: id, IpPermissions: buildPermissions([rule]) };
  return [buildAction("ec2:RevokeSecurityGroupIngress", formatRuleTarget(id, rule), request)];
}

/** Returns how many load balancers depend on a rule; undefined if the rule is not a shared one. */
function countUsers(
  { description = "", peer, ports }: Rule,
  ingress: SecurityGroupState["ingress"],
  { checkedPorts, networkGroups, classicGroups }: SharedRulesState,
): number | undefined {
  if (description === MTU_RULE)
    return parsePermissions(ingress).filter((each) => each.peer === peer && canServeClients(each)).length;
  if (description === SHARED_RULE) return networkGroups.includes(peer) ? 1 : 0;
  if (description === SHARED_CLASSIC_RULE) return classicGroups.includes(peer) ? 1 : 0;
  if (description !== SHARED_HEALTH_RULE && !description.startsWith(`${HEALTH_RULE}=`)) return undefined;
  const checked = checkedPorts.filter(
    ({ port }) => ports === undefined || (ports[0] <= port && port <= ports[1]),
  );
  // A rule for several ports belongs to one load balancer: shared rules have one port each.
  const counts = checked.map(({ users }) => users.length);
  return checked.length > 1 ? 1 : (counts[0] ?? 0);
}

/**
 * Whether a rule for health checks may also serve clients: AWS keeps only one of two rules with the same
 * addresses and port.
 */
function canServeClients({ description = "" }: Rule): boolean {
  return (
    description === SHARED_HEALTH_RULE ||
    description.startsWith(`${CLIENT_RULE}=`) ||
    description.startsWith(`${HEALTH_RULE}=`)
  );
}

/**
 * Whether an older version or the stock controller allowed a group that classic load balancers of the cluster
 * share.
 */
function isAdopted({ from, protocol, peer }: Rule, { groups, ownClassicGroups }: SharedRulesState): boolean {
  if (from !== "group" || protocol !== "-1" || !ownClassicGroups.includes(peer)) return false;
  const name = groups.find(({ group }) => group.GroupId === peer)?.group.GroupName;
  return name?.startsWith(OWN_CLASSIC_GROUP) !== true;
}

/** Prefix of the name of a classic load balancer's own security group. */
const OWN_CLASSIC_GROUP = "k8s-elb-";

/** Removes the shared group after the rules that name it, which hold it. */
function planGroupChange(
  { groups, networkGroups }: SharedRulesState,
  clusterTag: string,
  now: Date,
): readonly LoadBalancerAction[] {
  const id = findSharedGroupId(clusterTag, groups);
  const found = groups.find(({ group }) => group.GroupId === id);
  if (id === undefined || found === undefined) return [];
  const since = found.tags[UNUSED_TAG];
  if (networkGroups.includes(id)) {
    const request = { Resources: [id], Tags: [{ Key: UNUSED_TAG }] };
    return since === undefined ? [] : [buildAction("ec2:DeleteTags", id, request)];
  }
  const sinceMs = Date.parse(since ?? "");
  if (Number.isNaN(sinceMs)) {
    const request = { Resources: [id], Tags: toTagList({ [UNUSED_TAG]: now.toISOString() }) };
    return [buildAction("ec2:CreateTags", id, request)];
  }
  const isHeld = groups.some(({ ingress }) => parsePermissions(ingress).some(({ peer }) => peer === id));
  if (isHeld || now.getTime() - sinceMs < GRACE_MS) return [];
  return [buildAction("ec2:DeleteSecurityGroup", id, { GroupId: id })];
}

function buildDescriptionUpdate(id: string, rule: Rule, description: string): LoadBalancerAction {
  return buildAction("ec2:UpdateSecurityGroupRuleDescriptionsIngress", formatRuleTarget(id, rule), {
    GroupId: id,
    IpPermissions: buildPermissions([{ ...rule, description }]),
  });
}

/** Formats a key that tells the rules of a group apart, so that an audit tries each once. */
function formatRuleTarget(id: string, { protocol, ports, peer }: Rule): string {
  return [id, protocol, ports?.join("-"), peer].filter(Boolean).join(" ");
}

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
  /**
   * ARNs of load balancers and target groups with another cluster's tag. Its nodes have other security groups,
   * at the same node ports.
   */
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
