import {
  planAttributeChanges,
  planServiceTags,
  planTargetGroupAttributes,
} from "#clouds/aws/load-balancers/network/attributes.ts";
import {
  type BalancerChange,
  findAddedSubnets,
  planBalancerChange,
} from "#clouds/aws/load-balancers/network/balancer.ts";
import {
  buildActStep,
  buildWaitStep,
  getActions,
  type NetworkContext,
} from "#clouds/aws/load-balancers/network/context.ts";
import {
  type FrontendGroups,
  hasFrontendGroups,
  planFrontendGroups,
  planGroupAttachment,
  planSecurityGroupRemoval,
} from "#clouds/aws/load-balancers/network/groups.ts";
import { planListeners } from "#clouds/aws/load-balancers/network/listeners.ts";
import { checkSourceRanges, planRules } from "#clouds/aws/load-balancers/network/node-rules.ts";
import { IPV4 } from "#clouds/aws/load-balancers/network/ports.ts";
import { type Placement, placeBalancer } from "#clouds/aws/load-balancers/network/subnets.ts";
import {
  getTargetGroupArn,
  listUsedTargetGroups,
  type MatchedPort,
  matchPorts,
  planTargetGroupChanges,
  planTargetGroupCreation,
  planTargetGroupRemoval,
} from "#clouds/aws/load-balancers/network/target-groups.ts";
import {
  chooseTargets,
  type DesiredTargets,
  getTargetRules,
  planTargetDeregistration,
  planTargetRegistration,
} from "#clouds/aws/load-balancers/network/targets.ts";
import { buildTargetWait } from "#clouds/aws/load-balancers/select-target.ts";
import type {
  NetworkLoadBalancerState,
  SubnetState,
  TargetGroupState,
} from "#clouds/aws/load-balancers/state.ts";
import type { PlanResult } from "#clouds/aws/load-balancers/types.ts";
import { splitRuleActions } from "#clouds/aws/load-balancers/vpc/node-rules.ts";
import type {
  Issue,
  LoadBalancerAction,
  LoadBalancerQuestion,
  LoadBalancerStep,
} from "#core/service/model.ts";

/** The parts of the plan for an existing load balancer. */
interface ChangeParts {
  readonly kind: "planned";
  readonly balancer: NetworkLoadBalancerState;
  /**
   * Its `desired.families` are those of the placement, or the load balancer's own ones if no placement is valid.
   */
  readonly context: NetworkContext;
  readonly placement: Placement;
  readonly change: BalancerChange;
  /** The security groups of the load balancer. */
  readonly groups: PlannedGroups;
  readonly targets: DesiredTargets;
  readonly matched: readonly MatchedPort[];
  /** The target groups whose targets are kept current. */
  readonly serving: readonly TargetGroupState[];
  readonly register: readonly LoadBalancerAction[];
  readonly deregister: readonly LoadBalancerAction[];
  /** The rules on the nodes' groups. If they are refused, that is returned once all else is done. */
  readonly rules: PlanResult<readonly Issue[]>;
}

type PlannedGroups = Extract<FrontendGroups, { readonly kind: "planned" }>;
type Refusal = Extract<LoadBalancerStep, { readonly kind: "refused" }>;

/** Plans the changes of an existing load balancer and its parts. */
export function planChange(
  question: LoadBalancerQuestion,
  balancer: NetworkLoadBalancerState,
  context: NetworkContext,
): LoadBalancerStep {
  if (balancer.loadBalancer.State?.Code === "failed")
    return { kind: "refused", issue: buildFailedIssue(balancer) };
  const isFullyObserved = balancer.attributes !== undefined;
  const parts = planParts(question, balancer, context);
  if (parts.kind === "refused") return parts;
  const { placement, register, deregister, rules } = parts;
  // The rest of the load balancer stays unchanged, and so do the node rules that it needs.
  if (isFullyObserved && placement.kind === "refused") return placement;
  const actions = isFullyObserved ? orderActions(parts) : [...register, ...deregister, ...getActions(rules)];
  if (actions.length === 0)
    return [placement, rules].find((part) => part.kind === "refused") ?? settle(parts);
  const step = buildActStep("Changing", "the network load balancer differs from its desired state", actions);
  return step.kind === "act" && !isFullyObserved ? { ...step, onlyTargets: true } : step;
}

/** Without valid security groups it is unknown where the traffic to the nodes comes from: no part is planned. */
function planParts(
  question: LoadBalancerQuestion,
  balancer: NetworkLoadBalancerState,
  context: NetworkContext,
): ChangeParts | Refusal {
  const placement = placeBalancer(context, balancer.loadBalancer.Scheme === "internal");
  const families = placement.kind === "placed" ? placement.families : getCurrentFamilies(balancer, context);
  const resolved: NetworkContext = { ...context, desired: { ...context.desired, families } };
  const groups = planFrontendGroups(resolved, families);
  if (groups.kind === "refused") return groups;
  const targets = chooseTargets(question.nodes, getTargetRules(resolved), resolved);
  const matched = matchPorts(resolved);
  const trafficSource = {
    subnets: selectSubnets(balancer, placement, resolved),
    families,
    sharedSecurityGroupId: getSharedGroupId(groups, balancer, resolved),
  };
  const rules = planRules(targets.ids, trafficSource, resolved, targets.keptIds.length > 0);
  const serving = selectServingGroups(matched, balancer, resolved);
  return {
    kind: "planned",
    balancer,
    context: resolved,
    placement,
    change: placement.kind === "placed" ? planBalancerChange(balancer, placement, resolved) : NO_CHANGE,
    groups,
    targets,
    matched,
    serving,
    register: planTargetRegistration(serving, targets.ids),
    deregister: planTargetDeregistration(serving, targets),
    rules,
  };
}

const NO_CHANGE: BalancerChange = { actions: [], isAfterListeners: false };

/**
 * Returns the shared group if traffic comes from it. It is one of the desired groups, or one of the attached groups
 * while a desired group does not exist yet.
 */
function getSharedGroupId(
  { ids, sharedId }: PlannedGroups,
  { loadBalancer }: NetworkLoadBalancerState,
  context: NetworkContext,
): string | undefined {
  const sources = ids ?? loadBalancer.SecurityGroups ?? [];
  return sharedId !== undefined && sources.includes(sharedId) && hasFrontendGroups(context)
    ? sharedId
    : undefined;
}

/**
 * Selects the ports' target groups. If only targets were observed, listeners may still use further groups: these
 * are added.
 */
function selectServingGroups(
  matched: readonly MatchedPort[],
  { attributes }: NetworkLoadBalancerState,
  context: NetworkContext,
): readonly TargetGroupState[] {
  const found = matched.flatMap(({ group }) => group ?? []);
  return attributes === undefined ? [...new Set([...found, ...listUsedTargetGroups(context)])] : found;
}

/**
 * Returns all actions in an order that keeps traffic flowing. Target groups in use follow the nodes first, because
 * AWS may reject what comes next.
 */
function orderActions({
  balancer,
  context,
  change,
  groups,
  matched,
  register,
  deregister,
  rules,
}: ChangeParts): readonly LoadBalancerAction[] {
  const listeners = planListeners(matched, balancer, context);
  const ruleActions = getActions(rules);
  const attach = planGroupAttachment(groups, context);
  // First the nodes allow the new security groups, then the load balancer loses an old one.
  const rulesBeforeAttach = attach.length === 0 ? [] : splitRuleActions(ruleActions).opening;
  const usedGroups = new Set(listUsedTargetGroups(context).map(({ group }) => getTargetGroupArn(group)));
  const isUsed = ({ target }: LoadBalancerAction): boolean => usedGroups.has(target);
  return [
    ...register.filter(isUsed),
    ...deregister.filter(isUsed),
    ...groups.actions,
    ...planTargetGroupCreation(matched, context),
    ...(change.isAfterListeners ? [] : change.actions),
    ...rulesBeforeAttach,
    ...attach,
    ...(change.isAfterListeners
      ? listeners.create.filter((each) => !createsUdpListener(each))
      : listeners.create),
    ...register.filter((each) => !isUsed(each)),
    ...listeners.modify,
    // IPv6 is disabled only when each listener can leave its IPv6 target group.
    ...(change.isAfterListeners && matched.every(({ group }) => group !== undefined) ? change.actions : []),
    ...deregister.filter((each) => !isUsed(each)),
    ...planTargetGroupChanges(matched, context),
    ...ruleActions.filter((each) => !rulesBeforeAttach.includes(each)),
    ...planTargetGroupAttributes(matched, context),
    ...listeners.remove,
    ...planTargetGroupRemoval(matched, listeners.used, context),
    ...planServiceTags(balancer, listeners.keptListeners, context),
    // AWS may reject attributes for a while, or until the S3 bucket for access logs is repaired. So everything
    // that clients' traffic depends on comes first.
    ...planAttributeChanges(balancer, context),
    ...planSecurityGroupRemoval(groups.obsolete, context),
  ];
}

/** Returns the settled step, or waits for what AWS does not show yet. */
function settle({
  balancer,
  context,
  placement,
  change,
  groups,
  targets,
  matched,
  rules,
}: ChangeParts): LoadBalancerStep {
  const { DNSName } = balancer.loadBalancer;
  if (matched.some(({ group }) => group === undefined))
    return buildWaitStep(
      "TargetGroupMissing",
      "a port has no visible target group: everything is read again",
    );
  if (DNSName === undefined || DNSName === "")
    return buildWaitStep("Nameless", "AWS has not returned the load balancer's DNS name yet");
  return {
    kind: "settled",
    ingress: [{ hostname: DNSName }],
    ...buildTargetWait(targets.awaitedNodes),
    warnings: [
      ...context.desired.warnings,
      ...(placement.kind === "placed" ? placement.warnings : []),
      ...(change.warnings ?? []),
      ...groups.warnings,
      ...targets.warnings,
      ...checkSourceRanges(context),
      ...(rules.kind === "refused" ? [] : (rules.value ?? [])),
    ],
  };
}

/**
 * Returns whether an action creates a UDP listener. Such an action waits until IPv6 is disabled: a dual-stack load
 * balancer accepts UDP listeners only with a prefix for IPv6 source NAT.
 */
function createsUdpListener({ action, parameters }: LoadBalancerAction): boolean {
  return action === "elbv2:CreateListener" && /^(TCP_)?UDP$/.test(String(parameters["Protocol"]));
}

/**
 * Returns the subnets that the load balancer is in or will be added to. Node rules allow their CIDRs, which
 * contain the load balancer's own addresses.
 */
function selectSubnets(
  { loadBalancer }: NetworkLoadBalancerState,
  placement: Placement,
  { state }: NetworkContext,
): readonly SubnetState[] {
  const zones = loadBalancer.AvailabilityZones ?? [];
  const added = placement.kind === "placed" ? findAddedSubnets(zones, placement) : [];
  const ids = new Set([...zones, ...added.map(({ subnet }) => subnet)].map(({ SubnetId }) => SubnetId));
  return state.vpc.subnets.filter(({ subnet }) => ids.has(subnet.SubnetId));
}

function getCurrentFamilies({ loadBalancer }: NetworkLoadBalancerState, { desired }: NetworkContext) {
  const isDualstack = loadBalancer.IpAddressType === "dualstack";
  return isDualstack ? { ...desired.families, loadBalancer: "dualstack" as const } : IPV4;
}

function buildFailedIssue({ loadBalancer }: NetworkLoadBalancerState): Issue {
  return {
    code: "LoadBalancerFailed",
    detail: `${loadBalancer.LoadBalancerArn} has failed: ${loadBalancer.State?.Reason ?? "AWS gives no reason"}; delete it, and it is created again`,
  };
}
