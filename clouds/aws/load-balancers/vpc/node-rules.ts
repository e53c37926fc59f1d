import { awsAction } from "#clouds/aws/load-balancers/actions.ts";
import {
  CLUSTER_TAG_PREFIX,
  type ClusterIdentity,
  isNodeSecurityGroup,
  isOfCluster,
} from "#clouds/aws/load-balancers/ownership.ts";
import type { NodeRulesWanted, PlanNodeRules } from "#clouds/aws/load-balancers/pieces.ts";
import type { SecurityGroupState, VpcState } from "#clouds/aws/load-balancers/state.ts";
import {
  merged,
  permissionsOf,
  type Rule,
  rulesOf,
  rulesOfOpenings,
  without,
} from "#clouds/aws/load-balancers/vpc/rules.ts";
import type { LoadBalancerAction, Problem } from "#core/service/model.ts";

/** How the rules of one load balancer on the nodes' groups begin, and those of all of them together; upstream's own words. */
export const CLIENT_RULE = "kubernetes.io/rule/nlb/client";
export const HEALTH_RULE = "kubernetes.io/rule/nlb/health";
export const MTU_RULE = "kubernetes.io/rule/nlb/mtu";

/** What rules for the group that all network load balancers of a cluster share are described by. */
export const SHARED_RULE = "serverless-ccm.io/rule/nlb/backend";
/** What rules for health checks are described by at ports at which several load balancers may be checked. */
export const SHARED_HEALTH_RULE = "serverless-ccm.io/rule/nlb/health";
/** What rules for a group are described by that classic load balancers have, and that was made for none of them. */
export const SHARED_CLASSIC_RULE = "serverless-ccm.io/rule/elb/backend";

/**
 * Lets a load balancer's traffic in on the groups of its targets, and takes away what it does not need any more, there and elsewhere. Rules
 * of groups that are not proven to be of the cluster's nodes stay as they are.
 */
export const planNodeRules: PlanNodeRules = (wanted, vpc) => {
  if (wanted.disabled) return { kind: "ready", value: [] };
  const { groupIds, warnings } = groupsOfTargets(wanted, vpc);
  const rules = rulesOfOpenings(wanted.openings);
  const changes = nodeGroupsIn(vpc, wanted).map((state) => changeOf(state, groupIds, rules, wanted.mine));
  // First what is let in, on all groups: what moves from one rule to another is never shut out.
  const [first, ...more] = [...changes.flatMap(({ add }) => add), ...changes.flatMap(({ remove }) => remove)];
  return first === undefined
    ? { kind: "ready", value: warnings }
    : { kind: "act", actions: [first, ...more], value: warnings };
};

/** Which of the rules on nodes' groups a load balancer depends on, while it is not known which ones it is to have. */
export interface SpreadRules extends ClusterIdentity {
  readonly disabled: boolean;
  /** Of the targets. */
  readonly instanceIds: readonly string[];
  readonly isNeeded: (rule: Rule) => boolean;
}

/** Lets a load balancer in on the groups of all its targets as it is let in on some of them. Takes nothing away. */
export function spreadNodeRules(
  { isNeeded, ...targets }: SpreadRules,
  vpc: VpcState,
): readonly LoadBalancerAction[] {
  if (targets.disabled) return [];
  const { groupIds } = groupsOfTargets(targets, vpc);
  const nodeGroups = nodeGroupsIn(vpc, targets);
  const needed = nodeGroups.flatMap(({ ingress }) => rulesOf(ingress)).filter(isNeeded);
  return nodeGroups.flatMap(({ group: { GroupId: id = "" }, ingress }) =>
    groupIds.has(id) ? apart(without(needed, rulesOf(ingress)), (rules) => authorize(id, rules)) : [],
  );
}

/** Returns the security groups in which rules of load balancers may be read and changed. */
export function nodeGroupsIn(
  { groups }: Pick<VpcState, "groups">,
  identity: ClusterIdentity,
): readonly SecurityGroupState[] {
  return groups.filter(({ group, tags, isOnNodesAlone }) =>
    isNodeSecurityGroup({ id: group.GroupId ?? "", tags, isOnNodesAlone }, identity),
  );
}

/** Returns the ids of security groups that rules of other groups name in which nothing may be changed: AWS keeps them as long. */
export function listHeldGroups(
  vpc: Pick<VpcState, "groups">,
  identity: ClusterIdentity,
): ReadonlySet<string> {
  const nodeGroups = new Set(nodeGroupsIn(vpc, identity));
  const foreign = vpc.groups.filter((each) => !nodeGroups.has(each));
  return new Set(
    foreign.flatMap(({ ingress }) =>
      rulesOf(ingress).flatMap(({ from, peer }) => (from === "group" ? [peer] : [])),
    ),
  );
}

interface Change {
  readonly add: readonly LoadBalancerAction[];
  readonly remove: readonly LoadBalancerAction[];
}

function changeOf(
  { group, ingress }: SecurityGroupState,
  groupIds: ReadonlySet<string>,
  rules: readonly Rule[],
  mine: NodeRulesWanted["mine"],
): Change {
  const id = group.GroupId ?? "";
  const actual = rulesOf(ingress);
  const wanted = groupIds.has(id) ? asThereOrMerged(rules, actual) : [];
  const missing = without(wanted, actual);
  const surplus = without(actual, wanted).filter((rule) => isMine(rule, mine, actual));
  return {
    add: apart(missing, (rules) => authorize(id, rules)),
    remove: surplus.length === 0 ? [] : [revoke(id, surplus)],
  };
}

/**
 * What all load balancers have together each goes alone: of several that come at once all but the first meet what the others did, and
 * AWS does nothing of a request of which one rule is there already, or is gone.
 */
function apart(
  rules: readonly Rule[],
  request: (rules: readonly Rule[]) => LoadBalancerAction,
): readonly LoadBalancerAction[] {
  const isShared = ({ description = "" }: Rule): boolean => SHARED_RULES.has(description);
  const own = rules.filter((rule) => !isShared(rule));
  const shared = rules.filter(isShared);
  return [...(own.length === 0 ? [] : [own]), ...shared.map((rule) => [rule])].map(request);
}

/** Ports that follow each other need one rule; where the stock controller has made one for each, those do as well. */
function asThereOrMerged(rules: readonly Rule[], actual: readonly Rule[]): readonly Rule[] {
  return without(rules, actual).length === 0 ? rules : merged(rules);
}

function authorize(id: string, rules: readonly Rule[]): LoadBalancerAction {
  return awsAction("ec2:AuthorizeSecurityGroupIngress", id, {
    GroupId: id,
    IpPermissions: permissionsOf(rules),
  });
}

function revoke(id: string, rules: readonly Rule[]): LoadBalancerAction {
  return awsAction("ec2:RevokeSecurityGroupIngress", id, {
    GroupId: id,
    IpPermissions: permissionsOf(rules),
  });
}

const SHARED_RULES: ReadonlySet<string> = new Set([
  MTU_RULE,
  SHARED_RULE,
  SHARED_HEALTH_RULE,
  SHARED_CLASSIC_RULE,
]);

/** Whether we, or the stock controller, made a rule for this load balancer and for no other one. */
function isMine(rule: Rule, mine: NodeRulesWanted["mine"], actual: readonly Rule[]): boolean {
  const { descriptions, groupIds } = mine;
  if (rule.description === undefined || !descriptions.includes(rule.description))
    return rule.from === "group" && rule.protocol === "-1" && groupIds.includes(rule.peer);
  return !rule.description.startsWith(`${HEALTH_RULE}=`) || isAtOwnPorts(rule, mine, actual);
}

/** Whether nothing but this load balancer's targets is checked at the ports of a rule: node ports are one Service's alone. */
function isAtOwnPorts(
  { ports }: Rule,
  { descriptions, ownPorts = [] }: NodeRulesWanted["mine"],
  actual: readonly Rule[],
): boolean {
  if (ports === undefined) return false;
  const clients = actual.flatMap(({ description = "", ports: of }) =>
    of !== undefined && description.startsWith(`${CLIENT_RULE}=`) && descriptions.includes(description)
      ? [of]
      : [],
  );
  const isOwn = (port: number): boolean =>
    ownPorts.includes(port) || clients.some(([from, to]) => from <= port && port <= to);
  return Array.from({ length: ports[1] - ports[0] + 1 }, (_, at) => ports[0] + at).every(isOwn);
}

/**
 * An instance's group: the only one of its groups with the cluster's tag; or where none has it, the only one that the operator lists; or its
 * only group. One that is not proven to be of the cluster's nodes is told, and nothing is let in there.
 */
function groupsOfTargets(
  { clusterTag, allow, instanceIds }: Pick<NodeRulesWanted, "clusterTag" | "allow" | "instanceIds">,
  vpc: VpcState,
): { readonly groupIds: ReadonlySet<string>; readonly warnings: readonly Problem[] } {
  const idsOf = (states: readonly SecurityGroupState[]): ReadonlySet<string> =>
    new Set(states.map(({ group }) => group.GroupId ?? ""));
  const tagged = idsOf(vpc.groups.filter(({ tags }) => isOfCluster(tags, clusterTag)));
  const known = nodeGroupsIn(vpc, { clusterTag, allow });
  const proven = idsOf(known);
  const listed = idsOf(known.filter(({ isOnNodesAlone }) => isOnNodesAlone !== true));
  const groupIds = new Set<string>();
  const none: string[] = [];
  const several: string[] = [];
  const unproven = new Set<string>();
  for (const id of instanceIds) {
    const all = vpc.instances[id]?.groupIds;
    if (all === undefined) continue;
    const told = [tagged, listed].map((of) => all.filter((each) => of.has(each)));
    const ours = told.find(({ length }) => length > 0);
    const [only, second] = ours ?? all;
    if (only !== undefined && second === undefined) (proven.has(only) ? groupIds : unproven).add(only);
    else if (only === undefined || ours === undefined) none.push(id);
    else several.push(id);
  }
  const tag = `${CLUSTER_TAG_PREFIX}${clusterTag}`;
  return {
    groupIds,
    warnings: [
      ...warningOf(
        "NoNodeSecurityGroup",
        `one security group of each node's instance with the tag ${tag}`,
        none,
      ),
      ...warningOf(
        "AmbiguousNodeSecurityGroup",
        `the tag ${tag} on one alone of the security groups of each node's instance`,
        several,
      ),
      ...notProven([...unproven], tag),
    ],
  };
}

const MAX_SHOWN = 5;

function warningOf(code: string, allowed: string, instanceIds: readonly string[]): Problem[] {
  if (instanceIds.length === 0) return [];
  const shown = instanceIds.toSorted().slice(0, MAX_SHOWN).join(", ");
  return [
    { code, allowed, detail: `${instanceIds.length} instances are let in by no rule of ours, ${shown}` },
  ];
}

function notProven(groupIds: readonly string[], tag: string): Problem[] {
  if (groupIds.length === 0) return [];
  const shown = groupIds.toSorted().slice(0, MAX_SHOWN).join(", ");
  return [
    {
      code: "NodeSecurityGroupNotProven",
      allowed: `the tag ${tag} on each security group of nodes, or its id in cloud.allow.nodeSecurityGroups`,
      detail: `${groupIds.length} security groups are not proven to be of this cluster's nodes alone, and their rules stay as they are: ${shown}`,
    },
  ];
}
