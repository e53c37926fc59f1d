import { awsAction } from "#clouds/aws/load-balancers/actions.ts";
import { isOfCluster } from "#clouds/aws/load-balancers/allowed.ts";
import type { NodeRulesWanted, PlanNodeRules } from "#clouds/aws/load-balancers/pieces.ts";
import type { SecurityGroupState, VpcState } from "#clouds/aws/load-balancers/state.ts";
import {
  keyOf,
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

/** Lets a load balancer's traffic in on the groups of its targets, and takes away what it does not need any more, there and elsewhere. */
export const planNodeRules: PlanNodeRules = (wanted, vpc) => {
  if (wanted.disabled) return { kind: "ready", value: [] };
  const { groupIds, warnings } = groupsOfTargets(wanted, vpc);
  const rules = rulesOfOpenings(wanted.openings);
  const changes = vpc.groups.map((state) => changeOf(state, groupIds, rules, wanted.mine));
  // First what is let in, on all groups: what moves from one rule to another is never shut out.
  const [first, ...more] = [...changes.flatMap(({ add }) => add), ...changes.flatMap(({ remove }) => remove)];
  return first === undefined
    ? { kind: "ready", value: warnings }
    : { kind: "act", actions: [first, ...more], value: warnings };
};

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
  const surplus = without(actual, wanted).filter((rule) => isMine(rule, mine));
  const gone = new Set(surplus.filter(({ description }) => description !== MTU_RULE).map(keyOf));
  const left = [...actual.filter((rule) => !gone.has(keyOf(rule))), ...missing];
  const removed = surplus.filter((rule) => rule.description !== MTU_RULE || !hasClient(left, rule.peer));
  return {
    add: apart(missing, (rules) => authorize(id, rules)),
    remove: apart(removed, (rules) => revoke(id, rules)),
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
  const isShared = ({ description }: Rule): boolean =>
    description === MTU_RULE || description === SHARED_RULE;
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

/** Whether we, or the stock controller, made a rule for this load balancer. */
function isMine(rule: Rule, { descriptions, groupIds }: NodeRulesWanted["mine"]): boolean {
  if (rule.description !== undefined && descriptions.includes(rule.description)) return true;
  return rule.from === "group" && rule.protocol === "-1" && groupIds.includes(rule.peer);
}

/** Whether any network load balancer lets clients of a network in. */
function hasClient(rules: readonly Rule[], network: string): boolean {
  return rules.some(
    ({ peer, description }) => peer === network && description?.startsWith(`${CLIENT_RULE}=`) === true,
  );
}

/** An instance's group: the only one of its groups with the cluster's tag, or where none has it, its only group. */
function groupsOfTargets(
  { clusterTag, instanceIds }: NodeRulesWanted,
  vpc: VpcState,
): { readonly groupIds: ReadonlySet<string>; readonly warnings: readonly Problem[] } {
  const tagged = new Set(
    vpc.groups.filter(({ tags }) => isOfCluster(tags, clusterTag)).map(({ group }) => group.GroupId ?? ""),
  );
  const groupIds = new Set<string>();
  const none: string[] = [];
  const several: string[] = [];
  for (const id of instanceIds) {
    const all = vpc.instances[id]?.groupIds;
    if (all === undefined) continue;
    const ours = all.filter((each) => tagged.has(each));
    const [only, second] = ours.length > 0 ? ours : all;
    if (only !== undefined && second === undefined) groupIds.add(only);
    else if (only === undefined || ours.length === 0) none.push(id);
    else several.push(id);
  }
  const tag = `kubernetes.io/cluster/${clusterTag}`;
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
