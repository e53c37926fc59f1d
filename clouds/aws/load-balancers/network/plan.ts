import { awsAction } from "#clouds/aws/load-balancers/actions.ts";
import { annotationName } from "#clouds/aws/load-balancers/annotations/read-annotations.ts";
import { identityFor } from "#clouds/aws/load-balancers/configuration.ts";
import {
  changeAttributes,
  changeTags,
  changeTargetGroups,
} from "#clouds/aws/load-balancers/network/attributes.ts";
import {
  type BalancerChange,
  changeBalancer,
  createBalancer,
} from "#clouds/aws/load-balancers/network/balancer.ts";
import type { NetworkContext } from "#clouds/aws/load-balancers/network/context.ts";
import { IPV4 } from "#clouds/aws/load-balancers/network/families.ts";
import { attachGroups, hasFrontGroups, planFrontGroups } from "#clouds/aws/load-balancers/network/groups.ts";
import { planListeners } from "#clouds/aws/load-balancers/network/listeners.ts";
import { planRules } from "#clouds/aws/load-balancers/network/node-rules.ts";
import { isOwnBalancer, nameTaken } from "#clouds/aws/load-balancers/network/own-balancer.ts";
import { planRemoval } from "#clouds/aws/load-balancers/network/remove.ts";
import { type Placement, placeBalancer } from "#clouds/aws/load-balancers/network/subnets.ts";
import {
  arnOf,
  createTargetGroups,
  groupsInUse,
  type MatchedPort,
  matchPorts,
  modifyTargetGroups,
  ownTargetGroups,
} from "#clouds/aws/load-balancers/network/target-groups.ts";
import {
  chooseTargets,
  deregisterTargets,
  faultOfLabels,
  registerTargets,
  targetRulesFor,
} from "#clouds/aws/load-balancers/network/targets.ts";
import { readNetwork } from "#clouds/aws/load-balancers/network/wanted.ts";
import { isNameForeign } from "#clouds/aws/load-balancers/ownership.ts";
import type { Piece } from "#clouds/aws/load-balancers/pieces.ts";
import type { NetworkLoadBalancerState, SubnetState } from "#clouds/aws/load-balancers/state.ts";
import { awaitTargets } from "#clouds/aws/load-balancers/target-of.ts";
import { planRemovedGroups } from "#clouds/aws/load-balancers/vpc/remove-groups.ts";
import type { Whose } from "#clouds/aws/load-balancers/whose.ts";
import type {
  LoadBalancerAction,
  LoadBalancerQuestion,
  LoadBalancerStep,
  Problem,
} from "#core/service/model.ts";

/** What is next for a Service's network load balancer. */
export function planNetwork(question: LoadBalancerQuestion, whose: Whose): LoadBalancerStep {
  if (!question.wanted) return planRemoval(whose, question.service);
  const read = readNetwork(question.service, whose.settings);
  if (read.kind === "refused") return read;
  const context: NetworkContext = { ...whose, wanted: read.wanted };
  const unknown = faultOfLabels(question.nodes, context);
  if (unknown !== undefined) return { kind: "refused", problem: unknown };
  const balancer = whose.state.network;
  if (isNameForeign(whose.state, whose.owner, whose.configuration))
    return { kind: "refused", problem: nameTaken(context) };
  if (balancer === undefined) return planCreation(question, context);
  if (!isOwnBalancer(context)) return { kind: "refused", problem: nameTaken(context) };
  return planChange(question, balancer, context);
}

/** Nothing is made before it is known that all of it can be. */
function planCreation(question: LoadBalancerQuestion, context: NetworkContext): LoadBalancerStep {
  const placement = placeBalancer(context, context.wanted.internal);
  if (placement.kind === "refused") return placement;
  const groups = planFrontGroups(context, placement.families);
  if (groups.kind === "refused") return groups;
  const of: NetworkContext = { ...context, wanted: { ...context.wanted, families: placement.families } };
  const targets = chooseTargets(question.nodes, targetRulesFor(of), of);
  const sender = { subnets: placement.subnets, families: placement.families, sharedId: groups.sharedId };
  // Before its groups are known it is not made, and nothing comes from it.
  const rules = groups.ids === undefined ? NOTHING : planRules(targets.ids, sender, of);
  if (rules.kind === "refused") return rules;
  const matched = matchPorts(of);
  return act("Creating", "the network load balancer is not there yet", [
    ...groups.actions,
    ...(groups.ids === undefined ? [] : [createBalancer(placement, groups.ids, of)]),
    ...createTargetGroups(matched, of),
    ...(rules.kind === "act" ? rules.actions : []),
  ]);
}

function planChange(
  question: LoadBalancerQuestion,
  balancer: NetworkLoadBalancerState,
  context: NetworkContext,
): LoadBalancerStep {
  const { loadBalancer } = balancer;
  if (loadBalancer.State?.Code === "failed") return { kind: "refused", problem: failed(balancer) };
  const isInternal = loadBalancer.Scheme === "internal";
  const placement = placeBalancer(context, isInternal);
  const families = placement.kind === "placed" ? placement.families : familiesThere(balancer, context);
  const of: NetworkContext = { ...context, wanted: { ...context.wanted, families } };
  const change: BalancerChange =
    placement.kind === "placed" ? changeBalancer(balancer, placement, of) : { actions: [], isLast: false };
  const groups = planFrontGroups(of, families);
  const planned =
    groups.kind === "planned"
      ? groups
      : ({ kind: "planned", actions: [], ids: undefined, obsolete: [], warnings: [] } as const);
  const targets = chooseTargets(question.nodes, targetRulesFor(of), of);
  const matched = matchPorts(of);
  const listeners = planListeners(matched, balancer, of);
  const isShared =
    planned.sharedId !== undefined && (planned.ids ?? []).includes(planned.sharedId) && hasFrontGroups(of);
  const sender = {
    subnets: subnetsOf(balancer, placement, of),
    families,
    sharedId: isShared ? planned.sharedId : undefined,
  };
  const rules = planRules(targets.ids, sender, of);
  const attach = attachGroups(planned, of);
  const isSeen = balancer.attributes !== undefined;
  const found = matched.flatMap(({ group }) => group ?? []);
  const serving = isSeen ? found : [...new Set([...found, ...groupsInUse(of)])];
  const register = registerTargets(serving, targets.ids);
  const deregister = deregisterTargets(serving, targets.ids);
  const letIn = rules.kind === "act" ? rules.actions : [];
  // What the load balancer's other groups need is let in before it loses one by which it was.
  const early = attach.length === 0 ? [] : letIn.filter(isLettingIn);
  const whole = [
    ...planned.actions,
    ...createTargetGroups(matched, of),
    ...(change.isLast ? [] : change.actions),
    ...early,
    ...attach,
    ...(change.isLast ? listeners.create.filter((each) => !isOfUdp(each)) : listeners.create),
    ...register,
    ...listeners.modify,
    ...(change.isLast && matched.every(({ group }) => group !== undefined) ? change.actions : []),
    ...deregister,
    ...modifyTargetGroups(matched, of),
    ...letIn.filter((each) => !early.includes(each)),
    ...changeTargetGroups(matched, of),
    ...listeners.remove,
    ...removeTargetGroups(matched, listeners.used, of),
    ...changeTags(balancer, listeners.kept, of),
    // What AWS may refuse for a while, or until somebody mends a bucket, keeps nothing else back.
    ...changeAttributes(balancer, of),
    ...removeGroups(planned.obsolete, of),
  ];
  // Nothing else was asked about; or where it is to be cannot be said, and it stays as it is, but for nodes that come and go.
  const isWhole = isSeen && placement.kind === "placed";
  const actions = isWhole ? whole : [...register, ...deregister, ...letIn];
  if (actions.length > 0) {
    const step = act("Changing", "the network load balancer is not as it is to be", actions);
    return step.kind === "act" && !isSeen ? { ...step, onlyTargets: true } : step;
  }
  for (const part of [placement, groups, rules]) if (part.kind === "refused") return part;
  if (serving.length < of.wanted.ports.length)
    return waiting("TargetGroupMissing", "a port has no target group that is shown: all is looked at anew");
  if (loadBalancer.DNSName === undefined || loadBalancer.DNSName === "")
    return waiting("Nameless", "AWS has not told the load balancer's name yet");
  return {
    kind: "settled",
    ingress: [{ hostname: loadBalancer.DNSName }],
    ...awaitTargets(targets.awaited),
    warnings: [
      ...of.wanted.warnings,
      ...(placement.kind === "placed" ? placement.warnings : []),
      ...(change.warnings ?? []),
      ...planned.warnings,
      ...targets.warnings,
      ...faultsOfRanges(of),
      ...(rules.kind === "refused" ? [] : (rules.value ?? [])),
    ],
  };
}

/** Source ranges hold where targets see clients' addresses, or where the load balancer has security groups. */
function faultsOfRanges(context: NetworkContext): readonly Problem[] {
  const { sourceRanges, targetGroupAttributes } = context.wanted;
  const isHidden = targetGroupAttributes["preserve_client_ip.enabled"] === "false";
  const isOpen = sourceRanges === undefined || sourceRanges.includes("0.0.0.0/0");
  if (!isHidden || isOpen || hasFrontGroups(context)) return [];
  return [
    {
      code: "InvalidAnnotation",
      field: annotationName("target-group-attributes"),
      value: "preserve_client_ip.enabled=false",
      allowed:
        "preserve_client_ip.enabled=true where source ranges are limited, or anybody may come, unless the operator has set nlbSecurityGroupMode: Managed",
    },
  ];
}

function isLettingIn({ action }: LoadBalancerAction): boolean {
  return action === "ec2:AuthorizeSecurityGroupIngress";
}

/** It is made once IPv6 is off, for which it would have to be made otherwise. */
function isOfUdp({ action, parameters }: LoadBalancerAction): boolean {
  return action === "elbv2:CreateListener" && /^(TCP_)?UDP$/.test(String(parameters["Protocol"]));
}

const NOTHING: Piece<readonly Problem[]> = { kind: "ready", value: [] };

/** Target groups of ours that serve no port any more, and no listener sends to. */
function removeTargetGroups(
  matched: readonly MatchedPort[],
  used: ReadonlySet<string>,
  context: NetworkContext,
): readonly LoadBalancerAction[] {
  const kept = new Set(matched.flatMap(({ group }) => (group === undefined ? [] : [arnOf(group.group)])));
  return ownTargetGroups(context)
    .map(({ group }) => arnOf(group))
    .filter((arn) => !kept.has(arn) && !used.has(arn))
    .map((arn) => awsAction("elbv2:DeleteTargetGroup", arn, { TargetGroupArn: arn }));
}

function removeGroups(groupIds: readonly string[], { owner, state, settings }: NetworkContext) {
  const removed = planRemovedGroups({ owner, identity: identityFor(settings), groupIds }, state.vpc);
  return removed.kind === "act" ? removed.actions : [];
}

/** The subnets that it is in, or is about to be; by them its own addresses are let in. */
function subnetsOf(
  { loadBalancer }: NetworkLoadBalancerState,
  placement: Placement,
  { state }: NetworkContext,
): readonly SubnetState[] {
  const there = new Set(loadBalancer.AvailabilityZones?.map(({ SubnetId }) => SubnetId));
  const zones = new Set(loadBalancer.AvailabilityZones?.map(({ ZoneName }) => ZoneName));
  const added =
    placement.kind === "placed"
      ? placement.subnets.filter(({ subnet }) => !zones.has(subnet.AvailabilityZone))
      : [];
  const isAdded = new Set(added.map(({ subnet }) => subnet.SubnetId));
  return state.vpc.subnets.filter(({ subnet }) => there.has(subnet.SubnetId) || isAdded.has(subnet.SubnetId));
}

function familiesThere({ loadBalancer }: NetworkLoadBalancerState, { wanted }: NetworkContext) {
  const isDual = loadBalancer.IpAddressType === "dualstack";
  return isDual ? { ...wanted.families, loadBalancer: "dualstack" as const } : IPV4;
}

function failed({ loadBalancer }: NetworkLoadBalancerState): Problem {
  return {
    code: "LoadBalancerRefused",
    detail: `${loadBalancer.LoadBalancerArn} has failed: ${loadBalancer.State?.Reason ?? "AWS gives no reason"}; delete it, and it is made anew`,
  };
}

function act(code: string, message: string, actions: readonly LoadBalancerAction[]): LoadBalancerStep {
  const [first, ...more] = actions;
  if (first === undefined) return waiting(code, message);
  return { kind: "act", because: { code, message }, actions: [first, ...more] };
}

function waiting(code: string, message: string): LoadBalancerStep {
  return { kind: "wait", because: { code, message }, afterSeconds: 5 };
}
