import { buildAction } from "#clouds/aws/load-balancers/actions.ts";
import { formatAnnotationName } from "#clouds/aws/load-balancers/annotations/read-annotations.ts";
import { applyClassicResult } from "#clouds/aws/load-balancers/classic/apply-result.ts";
import { planAccessLog, planAttributes } from "#clouds/aws/load-balancers/classic/attributes.ts";
import type { ClassicContext } from "#clouds/aws/load-balancers/classic/context.ts";
import type { ClassicDesiredState } from "#clouds/aws/load-balancers/classic/desired-state.ts";
import { listOwnGroupIds } from "#clouds/aws/load-balancers/classic/groups.ts";
import { planHealthCheck } from "#clouds/aws/load-balancers/classic/health-check.ts";
import {
  chooseInstances,
  type DesiredInstances,
  planInstances,
} from "#clouds/aws/load-balancers/classic/instances.ts";
import { planListeners } from "#clouds/aws/load-balancers/classic/listeners.ts";
import {
  planProxyProtocol,
  planTlsPolicy,
  planUnservedPorts,
} from "#clouds/aws/load-balancers/classic/policies.ts";
import { planSubnets } from "#clouds/aws/load-balancers/classic/subnets.ts";
import { buildTargetWait } from "#clouds/aws/load-balancers/select-target.ts";
import type { ClassicLoadBalancerState, Pairs, SubnetState } from "#clouds/aws/load-balancers/state.ts";
import { buildServiceTags, planTagChanges, toTagList } from "#clouds/aws/load-balancers/tags.ts";
import type { PlanResult } from "#clouds/aws/load-balancers/types.ts";
import { planGroupRemoval } from "#clouds/aws/load-balancers/vpc/frontend-group.ts";
import {
  planNodeRules,
  SHARED_CLASSIC_RULE,
  splitRuleActions,
} from "#clouds/aws/load-balancers/vpc/node-rules.ts";
import type { Issue, LoadBalancerAction, LoadBalancerStep } from "#core/service/model.ts";

/** Desired state of an existing load balancer. */
export interface ClassicChange {
  readonly context: ClassicContext;
  readonly desired: ClassicDesiredState;
  /** Security groups of the load balancer; the nodes allow the first one. */
  readonly groupIds: readonly string[];
  readonly subnets: PlanResult<readonly SubnetState[]>;
}

/**
 * Changes an existing load balancer to the desired state. All changes with known inputs are sent in one
 * round, targets first, so that a later rejection keeps no node out. What cannot be changed in place is
 * reported at the end.
 */
export function changeClassic(change: ClassicChange, classic: ClassicLoadBalancerState): LoadBalancerStep {
  const { context, desired, groupIds, subnets } = change;
  const { state, owner, name, allow } = context;
  const instances = chooseInstances(context, desired.annotations);
  if ("code" in instances) return { kind: "refused", issue: instances };
  const rules = planRules(change, classic, instances);
  if (rules.kind === "refused") return rules;
  const { opening, closing } = splitRuleActions(rules.kind === "act" ? rules.actions : []);
  const parts = listParts(change, instances, closing);
  const pending = parts.reduce(appendPart, { state: classic, actions: opening });
  const [first, ...more] = pending.actions;
  if (first !== undefined)
    return {
      kind: "act",
      because: { code: "Changing", message: `the load balancer ${name} is changed` },
      actions: [first, ...more],
    };
  const obsoleteIds = listOwnGroupIds(context).filter((id) => !groupIds.includes(id));
  const groups = planGroupRemoval(
    { owner, identity: { clusterTag: owner.clusterTag, allow }, groupIds: obsoleteIds },
    state.vpc,
  );
  if (groups.kind === "refused") return groups;
  if (groups.kind === "act")
    return {
      kind: "act",
      because: {
        code: "DeletingSecurityGroups",
        message: `security groups that ${name} no longer has are deleted`,
      },
      actions: groups.actions,
    };
  const issue = checkScheme(change, classic) ?? checkSubnets(subnets, change, pending.state);
  if (issue !== undefined) return { kind: "refused", issue };
  const { DNSName: hostname } = classic.loadBalancer;
  if (hostname === undefined)
    return {
      kind: "wait",
      because: { code: "NoName", message: `${name} has no DNS name yet` },
      afterSeconds: 5,
    };
  const warnings = [...desired.warnings, ...instances.warnings, ...(rules.value ?? [])];
  return { kind: "settled", ingress: [{ hostname }], ...buildTargetWait(instances.awaitedNodes), warnings };
}

/** A load balancer during a change, and the actions so far. */
interface PendingChange {
  readonly state: ClassicLoadBalancerState;
  readonly actions: readonly LoadBalancerAction[];
}

type ChangePart = (state: ClassicLoadBalancerState) => readonly LoadBalancerAction[];

function appendPart(pending: PendingChange, part: ChangePart): PendingChange {
  const actions = part(pending.state);
  const state = actions.reduce<ClassicLoadBalancerState>(
    (current, action) => applyClassicResult(current, action, {}) ?? current,
    pending.state,
  );
  return { state, actions: [...pending.actions, ...actions] };
}

/**
 * Returns the parts of a load balancer in order; each one sees the results of the earlier ones. Rules that the nodes no
 * longer need are removed once no traffic depends on them.
 */
function listParts(
  { context, desired, groupIds, subnets }: ClassicChange,
  instances: DesiredInstances,
  obsoleteRules: readonly LoadBalancerAction[],
): readonly ChangePart[] {
  const { annotations, listeners } = desired;
  const additionalTags = annotations["additional-resource-tags"] ?? {};
  const planMove: ChangePart = (state) =>
    subnets.kind === "ready" ? planSubnets(state, subnets.value, context.state.vpc).actions : [];
  return [
    (state) => planInstances(state, instances),
    (state) => planListeners(state, listeners),
    (state) => planProxyProtocol(state, listeners, annotations["proxy-protocol"] !== undefined),
    (state) => planHealthCheck(state, desired.healthCheck),
    (state) => applyGroups(state, groupIds),
    // At most: add what fits, remove, add again, and replace what was kept meanwhile.
    ...Array<ChangePart>(5).fill(planMove),
    () => obsoleteRules,
    (state) => planAttributes(state, desired.attributes),
    // AWS may reject the policy, and the bucket for access logs.
    (state) => planTlsPolicy(state, annotations["ssl-negotiation-policy"]),
    (state) => planAccessLog(state, desired.attributes),
    (state) => planTags(state, buildServiceTags({ ...context.owner, additionalTags })),
    // Last, because no client depends on it.
    (state) => planUnservedPorts(state, listeners),
  ];
}

/**
 * Lets the load balancer's traffic in on the nodes: from its first group, and from an obsolete group of its
 * own while it is attached.
 */
function planRules(
  { context, groupIds }: ClassicChange,
  { loadBalancer }: ClassicLoadBalancerState,
  { ids: instanceIds, keptIds }: DesiredInstances,
): ReturnType<typeof planNodeRules> {
  const ownGroupIds = listOwnGroupIds(context);
  const leaving = ownGroupIds.filter(
    (id) => !groupIds.includes(id) && loadBalancer.SecurityGroups?.includes(id),
  );
  return planNodeRules(
    {
      disabled: context.configuration.disableSecurityGroupIngress === true,
      clusterTag: context.owner.clusterTag,
      allow: context.allow,
      instanceIds,
      hasHiddenTargets: keptIds.length > 0,
      openings: [...groupIds.slice(0, 1), ...leaving].map((id) => ({
        protocol: "-1",
        groupIds: [id],
        // Other load balancers may have this group too.
        ...(ownGroupIds.includes(id) ? {} : { description: SHARED_CLASSIC_RULE }),
      })),
      ownRules: { descriptions: [], groupIds: ownGroupIds },
    },
    context.state.vpc,
  );
}

function applyGroups(
  { loadBalancer }: ClassicLoadBalancerState,
  groupIds: readonly string[],
): readonly LoadBalancerAction[] {
  const actual = new Set(loadBalancer.SecurityGroups ?? []);
  if (actual.size === groupIds.length && groupIds.every((id) => actual.has(id))) return [];
  const name = loadBalancer.LoadBalancerName ?? "";
  const request = { LoadBalancerName: name, SecurityGroups: [...groupIds] };
  return [buildAction("elb:ApplySecurityGroupsToLoadBalancer", name, request)];
}

function checkScheme(
  { context, desired }: ClassicChange,
  { loadBalancer }: ClassicLoadBalancerState,
): Issue | undefined {
  const actual = loadBalancer.Scheme ?? "internet-facing";
  if (actual === desired.scheme) return undefined;
  const field = formatAnnotationName("internal");
  return {
    code: "InvalidAnnotation",
    field,
    value: context.question.service.metadata.annotations?.[field],
    allowed: `${actual === "internal"}, because the load balancer is ${actual}, and AWS cannot change that: create another Service`,
  };
}

function checkSubnets(
  subnets: ClassicChange["subnets"],
  { context }: ClassicChange,
  state: ClassicLoadBalancerState,
): Issue | undefined {
  if (subnets.kind === "refused") return subnets.issue;
  return subnets.kind === "ready" ? planSubnets(state, subnets.value, context.state.vpc).issue : undefined;
}

/** Adds the desired tags to a load balancer and removes obsolete ones of ours; other tags stay. */
function planTags(
  { loadBalancer, tags }: ClassicLoadBalancerState,
  desired: Pairs,
): readonly LoadBalancerAction[] {
  const name = loadBalancer.LoadBalancerName ?? "";
  const { add, remove } = planTagChanges(tags, desired);
  return [
    ...(remove.length === 0
      ? []
      : [
          buildAction("elb:RemoveTags", name, {
            LoadBalancerNames: [name],
            Tags: remove.map((Key) => ({ Key })),
          }),
        ]),
    ...(Object.keys(add).length === 0
      ? []
      : [buildAction("elb:AddTags", name, { LoadBalancerNames: [name], Tags: toTagList(add) })]),
  ];
}
