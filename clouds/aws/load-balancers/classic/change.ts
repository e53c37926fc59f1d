import { awsAction } from "#clouds/aws/load-balancers/actions.ts";
import { annotationName } from "#clouds/aws/load-balancers/annotations/read-annotations.ts";
import { planAttributes } from "#clouds/aws/load-balancers/classic/attributes.ts";
import type { ClassicContext } from "#clouds/aws/load-balancers/classic/context.ts";
import { foldClassic } from "#clouds/aws/load-balancers/classic/fold.ts";
import { ownGroupIds } from "#clouds/aws/load-balancers/classic/groups.ts";
import { planHealthCheck } from "#clouds/aws/load-balancers/classic/health-check.ts";
import { chooseInstances, planInstances } from "#clouds/aws/load-balancers/classic/instances.ts";
import { planListeners } from "#clouds/aws/load-balancers/classic/listeners.ts";
import {
  planProxyProtocol,
  planTlsPolicy,
  planUnservedPorts,
} from "#clouds/aws/load-balancers/classic/policies.ts";
import { planSubnets } from "#clouds/aws/load-balancers/classic/subnets.ts";
import { planTags } from "#clouds/aws/load-balancers/classic/tags.ts";
import type { ClassicWanted } from "#clouds/aws/load-balancers/classic/wanted.ts";
import type { Piece } from "#clouds/aws/load-balancers/pieces.ts";
import type { ClassicLoadBalancerState, SubnetState } from "#clouds/aws/load-balancers/state.ts";
import { wantedTags } from "#clouds/aws/load-balancers/tags.ts";
import { awaitTargets } from "#clouds/aws/load-balancers/target-of.ts";
import { planNodeRules, SHARED_CLASSIC_RULE } from "#clouds/aws/load-balancers/vpc/node-rules.ts";
import { planRemovedGroups } from "#clouds/aws/load-balancers/vpc/remove-groups.ts";
import type { LoadBalancerAction, LoadBalancerStep, Problem } from "#core/service/model.ts";

/** What an existing load balancer is to become. */
export interface ClassicChange {
  readonly context: ClassicContext;
  readonly wanted: ClassicWanted;
  /** Of the security groups; the first is let in on the nodes. */
  readonly groupIds: readonly string[];
  readonly subnets: Piece<readonly SubnetState[]>;
}

/**
 * Makes an existing load balancer what is wanted. Everything whose inputs are known is done in one go, targets first: what AWS
 * refuses of the rest keeps no node out. What cannot be changed in place is told when all else is done.
 */
export function changeClassic(change: ClassicChange, classic: ClassicLoadBalancerState): LoadBalancerStep {
  const { context, wanted, groupIds, subnets } = change;
  const { state, owner, name, allow } = context;
  const instances = chooseInstances(context, wanted.annotations);
  if ("code" in instances) return { kind: "refused", problem: instances };
  const rules = planRules(change, classic, instances.ids);
  if (rules.kind === "refused") return rules;
  const made = parts(change, instances.ids).reduce(appended, {
    state: classic,
    actions: rules.kind === "act" ? [...rules.actions] : [],
  });
  const [first, ...more] = made.actions;
  if (first !== undefined)
    return {
      kind: "act",
      because: { code: "Changing", message: `${name} is changed` },
      actions: [first, ...more],
    };
  const left = ownGroupIds(context).filter((id) => !groupIds.includes(id));
  const groups = planRemovedGroups(
    { owner, identity: { clusterTag: owner.clusterTag, allow }, groupIds: left },
    state.vpc,
  );
  if (groups.kind === "refused") return groups;
  if (groups.kind === "act")
    return {
      kind: "act",
      because: { code: "DeletingSecurityGroups", message: `${name} has other security groups` },
      actions: groups.actions,
    };
  const problem = schemeChanged(change, classic) ?? subnetsFixed(subnets, change, made.state);
  if (problem !== undefined) return { kind: "refused", problem };
  const { DNSName: hostname } = classic.loadBalancer;
  if (hostname === undefined)
    return {
      kind: "wait",
      because: { code: "NoName", message: `${name} has no DNS name yet` },
      afterSeconds: 5,
    };
  const warnings = [...wanted.warnings, ...instances.warnings, ...(rules.value ?? [])];
  return { kind: "settled", ingress: [{ hostname }], ...awaitTargets(instances.awaited), warnings };
}

/** A load balancer on its way, and what was done for it. */
interface Made {
  readonly state: ClassicLoadBalancerState;
  readonly actions: readonly LoadBalancerAction[];
}

type Part = (state: ClassicLoadBalancerState) => readonly LoadBalancerAction[];

function appended(made: Made, part: Part): Made {
  const actions = part(made.state);
  const state = actions.reduce<ClassicLoadBalancerState>(
    (before, action) => foldClassic(before, action, {}) ?? before,
    made.state,
  );
  return { state, actions: [...made.actions, ...actions] };
}

/** The parts of a load balancer, each of which sees what those before it do. */
function parts(
  { context, wanted, groupIds, subnets }: ClassicChange,
  instanceIds: readonly string[],
): readonly Part[] {
  const { annotations, listeners } = wanted;
  const additionalTags = annotations["additional-resource-tags"] ?? {};
  const move: Part = (state) =>
    subnets.kind === "ready" ? planSubnets(state, subnets.value, context.state.vpc).actions : [];
  return [
    (state) => planInstances(state, instanceIds),
    (state) => planListeners(state, listeners),
    (state) => planProxyProtocol(state, listeners, annotations["proxy-protocol"] !== undefined),
    (state) => planTlsPolicy(state, annotations["ssl-negotiation-policy"]),
    (state) => planHealthCheck(state, wanted.healthCheck),
    (state) => applyGroups(state, groupIds),
    // At most what fits, what leaves, what fits then, and what was kept meanwhile.
    ...Array<Part>(5).fill(move),
    (state) => planAttributes(state, wanted.attributes),
    (state) => planTags(state, wantedTags({ ...context.owner, additionalTags })),
    // Last, as no client depends on it.
    (state) => planUnservedPorts(state, listeners),
  ];
}

/** Lets the load balancer in on the nodes: by its first group, and by one of its own that is to go as long as it is attached. */
function planRules(
  { context, groupIds }: ClassicChange,
  { loadBalancer }: ClassicLoadBalancerState,
  instanceIds: readonly string[],
): ReturnType<typeof planNodeRules> {
  const own = ownGroupIds(context);
  const leaving = own.filter((id) => !groupIds.includes(id) && loadBalancer.SecurityGroups?.includes(id));
  return planNodeRules(
    {
      disabled: context.configuration.disableSecurityGroupIngress === true,
      clusterTag: context.owner.clusterTag,
      allow: context.allow,
      instanceIds,
      openings: [...groupIds.slice(0, 1), ...leaving].map((id) => ({
        protocol: "-1",
        groupIds: [id],
        // Other load balancers may have it, too.
        ...(own.includes(id) ? {} : { description: SHARED_CLASSIC_RULE }),
      })),
      mine: { descriptions: [], groupIds: own },
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
  return [awsAction("elb:ApplySecurityGroupsToLoadBalancer", name, request)];
}

function schemeChanged(
  { context, wanted }: ClassicChange,
  { loadBalancer }: ClassicLoadBalancerState,
): Problem | undefined {
  const actual = loadBalancer.Scheme ?? "internet-facing";
  if (actual === wanted.scheme) return undefined;
  const field = annotationName("internal");
  return {
    code: "InvalidAnnotation",
    field,
    value: context.question.service.metadata.annotations?.[field],
    allowed: `${actual === "internal"}, because the load balancer is ${actual}, and AWS cannot change that: make another Service`,
  };
}

function subnetsFixed(
  subnets: ClassicChange["subnets"],
  { context }: ClassicChange,
  state: ClassicLoadBalancerState,
): Problem | undefined {
  if (subnets.kind === "refused") return subnets.problem;
  return subnets.kind === "ready" ? planSubnets(state, subnets.value, context.state.vpc).problem : undefined;
}
