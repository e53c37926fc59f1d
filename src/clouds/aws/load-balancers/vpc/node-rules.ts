import { buildAction } from "#clouds/aws/load-balancers/actions.ts";
import {
  CLUSTER_TAG_PREFIX,
  type ClusterIdentity,
  isNodeSecurityGroup,
  isOfCluster,
} from "#clouds/aws/load-balancers/ownership.ts";
import type { SecurityGroupState, VpcState } from "#clouds/aws/load-balancers/state.ts";
import type { DesiredNodeRules, PlanNodeRules } from "#clouds/aws/load-balancers/types.ts";
import {
  buildPermissions,
  buildRules,
  mergeRules,
  needsRemovalFirst,
  parsePermissions,
  type Rule,
  subtractRules,
} from "#clouds/aws/load-balancers/vpc/rules.ts";
import type { Issue, LoadBalancerAction } from "#core/service/model.ts";

/**
 * Prefixes of descriptions of rules on the nodes' groups, for one load balancer and for all; the stock
 * controller's own words.
 */
export const CLIENT_RULE = "kubernetes.io/rule/nlb/client";
export const HEALTH_RULE = "kubernetes.io/rule/nlb/health";
export const MTU_RULE = "kubernetes.io/rule/nlb/mtu";

/** Description of rules for the group that all network load balancers of a cluster share. */
export const SHARED_RULE = "serverless-ccm.io/rule/nlb/backend";
/** Description of health check rules at ports where several load balancers may check. */
export const SHARED_HEALTH_RULE = "serverless-ccm.io/rule/nlb/health";
/** Description of rules for a group on classic load balancers that was not created for one of them. */
export const SHARED_CLASSIC_RULE = "serverless-ccm.io/rule/elb/backend";

/**
 * Allows a load balancer's traffic on the groups of its targets, and removes its obsolete rules from all
 * groups. Rules of groups that are not proven to be the nodes' stay unchanged.
 */
export const planNodeRules: PlanNodeRules = (desired, vpc) => {
  if (desired.disabled) return { kind: "ready", value: [] };
  const { groupIds, warnings } = selectTargetGroups(desired, vpc);
  const rules = buildRules(desired.openings);
  const changes = selectNodeGroups(vpc, desired).map((state) =>
    planRuleChange(state, groupIds, rules, desired),
  );
  const full = changes.filter(({ isFull }) => isFull);
  const others = changes.filter(({ isFull }) => !isFull);
  // All groups get new rules first: traffic that moves from one rule to another is never blocked. Only a group without
  // room for both loses its obsolete rules before.
  const [first, ...more] = [
    ...others.flatMap(({ add }) => add),
    ...full.flatMap(({ remove, add }) => [...remove, ...add]),
    ...others.flatMap(({ remove }) => remove),
  ];
  return first === undefined
    ? { kind: "ready", value: warnings }
    : { kind: "act", actions: [first, ...more], value: warnings };
};

/**
 * Splits changes of nodes' rules: those that let traffic in, with the removals that make room for them, and the
 * removals that can wait until no traffic needs the rules.
 */
export function splitRuleActions(actions: readonly LoadBalancerAction[]): {
  readonly opening: readonly LoadBalancerAction[];
  readonly closing: readonly LoadBalancerAction[];
} {
  const count = actions.findLastIndex(({ action }) => action === "ec2:AuthorizeSecurityGroupIngress") + 1;
  return { opening: actions.slice(0, count), closing: actions.slice(count) };
}

/**
 * Identifies the rules on nodes' groups that a load balancer depends on, while its desired rules are unknown.
 */
export interface SpreadRules extends ClusterIdentity {
  readonly disabled: boolean;
  /** Instances of the targets. */
  readonly instanceIds: readonly string[];
  readonly isNeeded: (rule: Rule) => boolean;
}

/** Copies a load balancer's rules from some of its targets' groups to all of them. Removes nothing. */
export function spreadNodeRules(
  { isNeeded, ...targets }: SpreadRules,
  vpc: VpcState,
): readonly LoadBalancerAction[] {
  if (targets.disabled) return [];
  const { groupIds } = selectTargetGroups(targets, vpc);
  const nodeGroups = selectNodeGroups(vpc, targets);
  const needed = nodeGroups.flatMap(({ ingress }) => parsePermissions(ingress)).filter(isNeeded);
  return nodeGroups.flatMap(({ group: { GroupId: id = "" }, ingress }) =>
    groupIds.has(id)
      ? splitRequests(subtractRules(needed, parsePermissions(ingress)), (rules) => buildAuthorize(id, rules))
      : [],
  );
}

/** Returns the security groups in which rules of load balancers may be read and changed. */
export function selectNodeGroups(
  { groups }: Pick<VpcState, "groups">,
  identity: ClusterIdentity,
): readonly SecurityGroupState[] {
  return groups.filter(({ group, tags, isOnNodesAlone }) =>
    isNodeSecurityGroup({ id: group.GroupId ?? "", tags, isOnNodesAlone }, identity),
  );
}

/**
 * Returns the ids of security groups that rules of unchangeable groups name; AWS keeps them while those rules
 * exist.
 */
export function listHeldGroups(
  vpc: Pick<VpcState, "groups">,
  identity: ClusterIdentity,
): ReadonlySet<string> {
  const nodeGroups = new Set(selectNodeGroups(vpc, identity));
  const foreign = vpc.groups.filter((each) => !nodeGroups.has(each));
  return new Set(
    foreign.flatMap(({ ingress }) =>
      parsePermissions(ingress).flatMap(({ from, peer }) => (from === "group" ? [peer] : [])),
    ),
  );
}

interface Change {
  readonly add: readonly LoadBalancerAction[];
  readonly remove: readonly LoadBalancerAction[];
  /** The group has no room for new and obsolete rules together. */
  readonly isFull: boolean;
}

function planRuleChange(
  { group, ingress }: SecurityGroupState,
  groupIds: ReadonlySet<string>,
  rules: readonly Rule[],
  { ownRules, hasHiddenTargets = false }: Pick<DesiredNodeRules, "ownRules" | "hasHiddenTargets">,
): Change {
  const id = group.GroupId ?? "";
  const actual = parsePermissions(ingress);
  const isOfHidden = hasHiddenTargets && actual.some((rule) => isOwnRule(rule, ownRules, actual));
  const desired = groupIds.has(id) || isOfHidden ? alignRules(rules, actual) : [];
  const missing = subtractRules(desired, actual);
  const surplus = subtractRules(actual, desired).filter((rule) => isOwnRule(rule, ownRules, actual));
  return {
    add: splitRequests(missing, (rules) => buildAuthorize(id, rules)),
    remove: surplus.length === 0 ? [] : [buildRevoke(id, surplus)],
    isFull: needsRemovalFirst(actual, missing, surplus),
  };
}

/**
 * Sends shared rules one per request. AWS rejects a whole request if one of its rules exists already or
 * is gone, as in all but the first of several concurrent requests.
 */
function splitRequests(
  rules: readonly Rule[],
  request: (rules: readonly Rule[]) => LoadBalancerAction,
): readonly LoadBalancerAction[] {
  const isShared = ({ description = "" }: Rule): boolean => SHARED_RULES.has(description);
  const unsharedRules = rules.filter((rule) => !isShared(rule));
  const shared = rules.filter(isShared);
  return [...(unsharedRules.length === 0 ? [] : [unsharedRules]), ...shared.map((rule) => [rule])].map(
    request,
  );
}

/** Consecutive ports need one rule; separate rules of the stock controller are accepted too. */
function alignRules(rules: readonly Rule[], actual: readonly Rule[]): readonly Rule[] {
  return subtractRules(rules, actual).length === 0 ? rules : mergeRules(rules);
}

function buildAuthorize(id: string, rules: readonly Rule[]): LoadBalancerAction {
  return buildAction("ec2:AuthorizeSecurityGroupIngress", id, {
    GroupId: id,
    IpPermissions: buildPermissions(rules),
  });
}

function buildRevoke(id: string, rules: readonly Rule[]): LoadBalancerAction {
  return buildAction("ec2:RevokeSecurityGroupIngress", id, {
    GroupId: id,
    IpPermissions: buildPermissions(rules),
  });
}

const SHARED_RULES: ReadonlySet<string> = new Set([
  MTU_RULE,
  SHARED_RULE,
  SHARED_HEALTH_RULE,
  SHARED_CLASSIC_RULE,
]);

/** Whether we, or the stock controller, created a rule for this load balancer only. */
function isOwnRule(rule: Rule, ownRules: DesiredNodeRules["ownRules"], actual: readonly Rule[]): boolean {
  const { descriptions, groupIds } = ownRules;
  if (rule.description === undefined || !descriptions.includes(rule.description))
    return rule.from === "group" && rule.protocol === "-1" && groupIds.includes(rule.peer);
  return !rule.description.startsWith(`${HEALTH_RULE}=`) || isAtOwnPorts(rule, ownRules, actual);
}

/**
 * Whether only this load balancer's targets are checked at the ports of a rule: a node port belongs to one
 * Service.
 */
function isAtOwnPorts(
  { ports }: Rule,
  { descriptions, ownPorts = [] }: DesiredNodeRules["ownRules"],
  actual: readonly Rule[],
): boolean {
  if (ports === undefined) return false;
  const clients = actual.flatMap(({ description = "", ports: portRange }) =>
    portRange !== undefined && description.startsWith(`${CLIENT_RULE}=`) && descriptions.includes(description)
      ? [portRange]
      : [],
  );
  const isOwnPort = (port: number): boolean =>
    ownPorts.includes(port) || clients.some(([from, to]) => from <= port && port <= to);
  return Array.from({ length: ports[1] - ports[0] + 1 }, (_, offset) => ports[0] + offset).every(isOwnPort);
}

/**
 * Selects an instance's group: its only group with the cluster's tag, else its only group that the operator
 * lists, else its only group. A group that is not proven to be the nodes' is reported and not changed.
 */
function selectTargetGroups(
  { clusterTag, allow, instanceIds }: Pick<DesiredNodeRules, "clusterTag" | "allow" | "instanceIds">,
  vpc: VpcState,
): { readonly groupIds: ReadonlySet<string>; readonly warnings: readonly Issue[] } {
  const toIds = (states: readonly SecurityGroupState[]): ReadonlySet<string> =>
    new Set(states.map(({ group }) => group.GroupId ?? ""));
  const tagged = toIds(vpc.groups.filter(({ tags }) => isOfCluster(tags, clusterTag)));
  const nodeGroups = selectNodeGroups(vpc, { clusterTag, allow });
  const proven = toIds(nodeGroups);
  const listed = toIds(nodeGroups.filter(({ isOnNodesAlone }) => isOnNodesAlone !== true));
  const groupIds = new Set<string>();
  const withoutGroup: string[] = [];
  const withSeveralGroups: string[] = [];
  const unproven = new Set<string>();
  for (const id of instanceIds) {
    const attachedIds = vpc.instances[id]?.groupIds;
    if (attachedIds === undefined) continue;
    const matches = [tagged, listed].map((ids) => attachedIds.filter((each) => ids.has(each)));
    const preferred = matches.find(({ length }) => length > 0);
    const [only, second] = preferred ?? attachedIds;
    if (only !== undefined && second === undefined) (proven.has(only) ? groupIds : unproven).add(only);
    else if (only === undefined || preferred === undefined) withoutGroup.push(id);
    else withSeveralGroups.push(id);
  }
  const tag = `${CLUSTER_TAG_PREFIX}${clusterTag}`;
  return {
    groupIds,
    warnings: [
      ...buildWarnings(
        "NoNodeSecurityGroup",
        `one security group of each node's instance with the tag ${tag}`,
        withoutGroup,
      ),
      ...buildWarnings(
        "AmbiguousNodeSecurityGroup",
        `the tag ${tag} on exactly one security group of each node's instance`,
        withSeveralGroups,
      ),
      ...buildNotProvenIssues([...unproven], tag),
    ],
  };
}

const MAX_SHOWN = 5;

function buildWarnings(code: string, allowed: string, instanceIds: readonly string[]): Issue[] {
  if (instanceIds.length === 0) return [];
  const listed = instanceIds.toSorted().slice(0, MAX_SHOWN).join(", ");
  return [{ code, allowed, detail: `${instanceIds.length} instances get no rule: ${listed}` }];
}

function buildNotProvenIssues(groupIds: readonly string[], tag: string): Issue[] {
  if (groupIds.length === 0) return [];
  const listed = groupIds.toSorted().slice(0, MAX_SHOWN).join(", ");
  return [
    {
      code: "NodeSecurityGroupNotProven",
      allowed: `the tag ${tag} on each security group of nodes, or its id in cloud.allow.nodeSecurityGroups`,
      detail: `${groupIds.length} security groups are not proven to be of this cluster's nodes alone, and their rules stay unchanged: ${listed}`,
    },
  ];
}
