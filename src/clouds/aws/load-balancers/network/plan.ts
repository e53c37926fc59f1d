import { buildAction } from "#clouds/aws/load-balancers/actions.ts";
import { formatAnnotationName } from "#clouds/aws/load-balancers/annotations/read-annotations.ts";
import { getIdentity } from "#clouds/aws/load-balancers/configuration.ts";
import type { LoadBalancerContext } from "#clouds/aws/load-balancers/context.ts";
import {
  planAttributeChanges,
  planServiceTags,
  planTargetGroupAttributes,
} from "#clouds/aws/load-balancers/network/attributes.ts";
import {
  type BalancerChange,
  planBalancerChange,
  planBalancerCreation,
} from "#clouds/aws/load-balancers/network/balancer.ts";
import {
  buildNameTakenIssue,
  isOwnBalancer,
  type NetworkContext,
} from "#clouds/aws/load-balancers/network/context.ts";
import { readNetwork } from "#clouds/aws/load-balancers/network/desired-state.ts";
import {
  hasFrontendGroups,
  planFrontendGroups,
  planGroupAttachment,
} from "#clouds/aws/load-balancers/network/groups.ts";
import { planListeners } from "#clouds/aws/load-balancers/network/listeners.ts";
import { planRules } from "#clouds/aws/load-balancers/network/node-rules.ts";
import { IPV4 } from "#clouds/aws/load-balancers/network/ports.ts";
import { planRemoval } from "#clouds/aws/load-balancers/network/remove.ts";
import { type Placement, placeBalancer } from "#clouds/aws/load-balancers/network/subnets.ts";
import {
  getTargetGroupArn,
  listOwnTargetGroups,
  listUsedTargetGroups,
  type MatchedPort,
  matchPorts,
  planTargetGroupChanges,
  planTargetGroupCreation,
} from "#clouds/aws/load-balancers/network/target-groups.ts";
import {
  checkLabels,
  chooseTargets,
  getTargetRules,
  planTargetDeregistration,
  planTargetRegistration,
} from "#clouds/aws/load-balancers/network/targets.ts";
import { isNameForeign } from "#clouds/aws/load-balancers/ownership.ts";
import { buildTargetWait } from "#clouds/aws/load-balancers/select-target.ts";
import type { NetworkLoadBalancerState, SubnetState } from "#clouds/aws/load-balancers/state.ts";
import type { PlanResult } from "#clouds/aws/load-balancers/types.ts";
import { planRemovedGroups } from "#clouds/aws/load-balancers/vpc/frontend-group.ts";
import type {
  Issue,
  LoadBalancerAction,
  LoadBalancerQuestion,
  LoadBalancerStep,
} from "#core/service/model.ts";

/** Returns the next step for a Service's network load balancer. */
export function planNetwork(
  question: LoadBalancerQuestion,
  balancerContext: LoadBalancerContext,
): LoadBalancerStep {
  if (!question.wanted) return planRemoval(balancerContext, question.service);
  const read = readNetwork(question.service, balancerContext.settings);
  if (read.kind === "refused") return read;
  const context: NetworkContext = { ...balancerContext, desired: read.desired };
  const labelIssue = checkLabels(question.nodes, context);
  if (labelIssue !== undefined) return { kind: "refused", issue: labelIssue };
  const balancer = balancerContext.state.network;
  if (isNameForeign(balancerContext.state, balancerContext.owner, balancerContext.configuration))
    return { kind: "refused", issue: buildNameTakenIssue(context) };
  if (balancer === undefined) return planCreation(question, context);
  if (!isOwnBalancer(context)) return { kind: "refused", issue: buildNameTakenIssue(context) };
  return planChange(question, balancer, context);
}

/** Plans a new load balancer with its parts. Creates nothing if one part is refused. */
function planCreation(question: LoadBalancerQuestion, context: NetworkContext): LoadBalancerStep {
  const placement = placeBalancer(context, context.desired.internal);
  if (placement.kind === "refused") return placement;
  const groups = planFrontendGroups(context, placement.families);
  if (groups.kind === "refused") return groups;
  const resolved: NetworkContext = {
    ...context,
    desired: { ...context.desired, families: placement.families },
  };
  const targets = chooseTargets(question.nodes, getTargetRules(resolved), resolved);
  const trafficSource = {
    subnets: placement.subnets,
    families: placement.families,
    sharedSecurityGroupId: groups.sharedId,
  };
  // While a security group does not exist yet, this step does not create the load balancer: nodes need no
  // rules, because it sends no traffic.
  const rules = groups.ids === undefined ? NO_RULES : planRules(targets.ids, trafficSource, resolved);
  if (rules.kind === "refused") return rules;
  const matched = matchPorts(resolved);
  return act("Creating", "the network load balancer does not exist yet", [
    ...groups.actions,
    ...(groups.ids === undefined ? [] : [planBalancerCreation(placement, groups.ids, resolved)]),
    ...planTargetGroupCreation(matched, resolved),
    ...(rules.kind === "act" ? rules.actions : []),
  ]);
}

function planChange(
  question: LoadBalancerQuestion,
  balancer: NetworkLoadBalancerState,
  context: NetworkContext,
): LoadBalancerStep {
  const { loadBalancer } = balancer;
  if (loadBalancer.State?.Code === "failed") return { kind: "refused", issue: buildFailedIssue(balancer) };
  const isInternal = loadBalancer.Scheme === "internal";
  const placement = placeBalancer(context, isInternal);
  const families = placement.kind === "placed" ? placement.families : getCurrentFamilies(balancer, context);
  const resolved: NetworkContext = { ...context, desired: { ...context.desired, families } };
  const change: BalancerChange =
    placement.kind === "placed"
      ? planBalancerChange(balancer, placement, resolved)
      : { actions: [], isAfterListeners: false };
  const groups = planFrontendGroups(resolved, families);
  const planned =
    groups.kind === "planned"
      ? groups
      : ({ kind: "planned", actions: [], ids: undefined, obsolete: [], warnings: [] } as const);
  const targets = chooseTargets(question.nodes, getTargetRules(resolved), resolved);
  const matched = matchPorts(resolved);
  const listeners = planListeners(matched, balancer, resolved);
  const isShared =
    planned.sharedId !== undefined &&
    (planned.ids ?? []).includes(planned.sharedId) &&
    hasFrontendGroups(resolved);
  const trafficSource = {
    subnets: selectSubnets(balancer, placement, resolved),
    families,
    sharedSecurityGroupId: isShared ? planned.sharedId : undefined,
  };
  const rules = planRules(targets.ids, trafficSource, resolved);
  const attach = planGroupAttachment(planned, resolved);
  const isFullyObserved = balancer.attributes !== undefined;
  const found = matched.flatMap(({ group }) => group ?? []);
  const serving = isFullyObserved ? found : [...new Set([...found, ...listUsedTargetGroups(resolved)])];
  const register = planTargetRegistration(serving, targets.ids);
  const deregister = planTargetDeregistration(serving, targets.ids);
  const ruleActions = rules.kind === "act" ? rules.actions : [];
  // Nodes allow the load balancer's new security groups before it loses a group that they allow now.
  const rulesBeforeAttach = attach.length === 0 ? [] : ruleActions.filter(isIngressRule);
  const allActions = [
    ...planned.actions,
    ...planTargetGroupCreation(matched, resolved),
    ...(change.isAfterListeners ? [] : change.actions),
    ...rulesBeforeAttach,
    ...attach,
    ...(change.isAfterListeners
      ? listeners.create.filter((each) => !createsUdpListener(each))
      : listeners.create),
    ...register,
    ...listeners.modify,
    ...(change.isAfterListeners && matched.every(({ group }) => group !== undefined) ? change.actions : []),
    ...deregister,
    ...planTargetGroupChanges(matched, resolved),
    ...ruleActions.filter((each) => !rulesBeforeAttach.includes(each)),
    ...planTargetGroupAttributes(matched, resolved),
    ...listeners.remove,
    ...planTargetGroupRemoval(matched, listeners.used, resolved),
    ...planServiceTags(balancer, listeners.keptListeners, resolved),
    // AWS may reject attributes for a while, or until the S3 bucket for access logs is repaired. So everything
    // that clients' traffic depends on comes first.
    ...planAttributeChanges(balancer, resolved),
    ...planSecurityGroupRemoval(planned.obsolete, resolved),
  ];
  // Only targets were observed, or no valid placement exists: update targets and node rules, leave the rest
  // unchanged.
  const canChangeAll = isFullyObserved && placement.kind === "placed";
  const actions = canChangeAll ? allActions : [...register, ...deregister, ...ruleActions];
  if (actions.length > 0) {
    const step = act("Changing", "the network load balancer differs from its desired state", actions);
    return step.kind === "act" && !isFullyObserved ? { ...step, onlyTargets: true } : step;
  }
  for (const part of [placement, groups, rules]) if (part.kind === "refused") return part;
  if (serving.length < resolved.desired.ports.length)
    return wait("TargetGroupMissing", "a port has no visible target group: everything is read again");
  if (loadBalancer.DNSName === undefined || loadBalancer.DNSName === "")
    return wait("Nameless", "AWS has not returned the load balancer's name yet");
  return {
    kind: "settled",
    ingress: [{ hostname: loadBalancer.DNSName }],
    ...buildTargetWait(targets.awaitedNodes),
    warnings: [
      ...resolved.desired.warnings,
      ...(placement.kind === "placed" ? placement.warnings : []),
      ...(change.warnings ?? []),
      ...planned.warnings,
      ...targets.warnings,
      ...checkSourceRanges(resolved),
      ...(rules.kind === "refused" ? [] : (rules.value ?? [])),
    ],
  };
}

/**
 * Returns a warning if source ranges have no effect. They need targets that see clients' addresses, or a load
 * balancer with security groups.
 */
function checkSourceRanges(context: NetworkContext): readonly Issue[] {
  const { sourceRanges, targetGroupAttributes } = context.desired;
  const hidesClientIp = targetGroupAttributes["preserve_client_ip.enabled"] === "false";
  const allowsAllClients = sourceRanges === undefined || sourceRanges.includes("0.0.0.0/0");
  if (!hidesClientIp || allowsAllClients || hasFrontendGroups(context)) return [];
  return [
    {
      code: "InvalidAnnotation",
      field: formatAnnotationName("target-group-attributes"),
      value: "preserve_client_ip.enabled=false",
      allowed:
        "preserve_client_ip.enabled=true if source ranges are limited (otherwise all clients have access), unless the operator has set nlbSecurityGroupMode: Managed",
    },
  ];
}

function isIngressRule({ action }: LoadBalancerAction): boolean {
  return action === "ec2:AuthorizeSecurityGroupIngress";
}

/**
 * Returns whether an action creates a UDP listener. Such an action waits until IPv6 is disabled: with IPv6
 * the listener would be created differently.
 */
function createsUdpListener({ action, parameters }: LoadBalancerAction): boolean {
  return action === "elbv2:CreateListener" && /^(TCP_)?UDP$/.test(String(parameters["Protocol"]));
}

const NO_RULES: PlanResult<readonly Issue[]> = { kind: "ready", value: [] };

/** Plans the deletion of our target groups that no port and no listener uses. */
function planTargetGroupRemoval(
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

function planSecurityGroupRemoval(groupIds: readonly string[], { owner, state, settings }: NetworkContext) {
  const removal = planRemovedGroups({ owner, identity: getIdentity(settings), groupIds }, state.vpc);
  return removal.kind === "act" ? removal.actions : [];
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
  const currentSubnetIds = new Set(loadBalancer.AvailabilityZones?.map(({ SubnetId }) => SubnetId));
  const currentZones = new Set(loadBalancer.AvailabilityZones?.map(({ ZoneName }) => ZoneName));
  const added =
    placement.kind === "placed"
      ? placement.subnets.filter(({ subnet }) => !currentZones.has(subnet.AvailabilityZone))
      : [];
  const addedSubnetIds = new Set(added.map(({ subnet }) => subnet.SubnetId));
  return state.vpc.subnets.filter(
    ({ subnet }) => currentSubnetIds.has(subnet.SubnetId) || addedSubnetIds.has(subnet.SubnetId),
  );
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

function act(code: string, message: string, actions: readonly LoadBalancerAction[]): LoadBalancerStep {
  const [first, ...more] = actions;
  if (first === undefined) return wait(code, message);
  return { kind: "act", because: { code, message }, actions: [first, ...more] };
}

function wait(code: string, message: string): LoadBalancerStep {
  return { kind: "wait", because: { code, message }, afterSeconds: 5 };
}
