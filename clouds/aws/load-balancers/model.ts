import type { LoadBalancerKind } from "#clouds/aws/load-balancers/annotations/table.ts";
import { applyClassicResult } from "#clouds/aws/load-balancers/classic/apply-result.ts";
import { buildClassicContext } from "#clouds/aws/load-balancers/classic/context.ts";
import { planClassic } from "#clouds/aws/load-balancers/classic/plan.ts";
import { isOwnClassicBalancer } from "#clouds/aws/load-balancers/classic/remove.ts";
import { getConfiguration } from "#clouds/aws/load-balancers/configuration.ts";
import { contextFor } from "#clouds/aws/load-balancers/context.ts";
import { describeDesired } from "#clouds/aws/load-balancers/desired-hash.ts";
import { followNodesOnAws } from "#clouds/aws/load-balancers/follow-nodes.ts";
import { getLoadBalancerKind, TYPE } from "#clouds/aws/load-balancers/kind.ts";
import { measureBalancer } from "#clouds/aws/load-balancers/measure.ts";
import { needsRollback } from "#clouds/aws/load-balancers/needs-rollback.ts";
import { applyNetworkResult } from "#clouds/aws/load-balancers/network/apply-result.ts";
import { isOwnBalancer } from "#clouds/aws/load-balancers/network/name-taken.ts";
import { planNetwork } from "#clouds/aws/load-balancers/network/plan.ts";
import { createOrphanModel } from "#clouds/aws/load-balancers/orphans/model.ts";
import { precheck } from "#clouds/aws/load-balancers/precheck.ts";
import { listLostTargets, selectTarget } from "#clouds/aws/load-balancers/select-target.ts";
import type { AwsLoadBalancerState } from "#clouds/aws/load-balancers/state.ts";
import { toIssue } from "#clouds/aws/load-balancers/to-issue.ts";
import { applyVpcResult } from "#clouds/aws/load-balancers/vpc/apply-result.ts";
import type { LoadBalancerModel, LoadBalancerQuestion, LoadBalancerStep } from "#core/service/model.ts";
import type { Settings } from "#core/settings.ts";

/**
 * The load balancer model of AWS: network and classic load balancers, created as the stock controller does.
 */
export const awsLoadBalancerModel: LoadBalancerModel = {
  precheck,
  planStep(question, observed, settings) {
    // The observation comes from our own capability, which has parsed AWS's answers.
    const request = { question, state: observed as AwsLoadBalancerState, settings };
    if (!question.wanted) return remove(request);
    const kind = getLoadBalancerKind(question.service);
    return kind === "elsewhere" ? { kind } : ensure(kind, request);
  },
  followNodes: followNodesOnAws,
  listLostTargets: (question, observed) => listLostTargets(question, observed as AwsLoadBalancerState),
  isVisible(question, observed, settings) {
    const kind = getLoadBalancerKind(question.service);
    const request = { question, state: observed as AwsLoadBalancerState, settings };
    return kind === "elsewhere" || hasOwnBalancer(kind, request);
  },
  measure: ({ service }, observed) => measureBalancer(service, observed as AwsLoadBalancerState),
  applyResult(observed, action, result) {
    const state = observed as AwsLoadBalancerState;
    switch (action.action.split(":")[0]) {
      case "ec2":
        return { ...state, vpc: applyVpcResult(state.vpc, action, result) };
      case "elb":
        return { ...state, classic: applyClassicResult(state.classic, action, result) };
      default:
        return applyNetworkResult(state, action, result);
    }
  },
  // All Services of a batch share one state of the VPC.
  isShared: ({ action }) => action.startsWith("ec2:"),
  toIssue,
  orphans: createOrphanModel((question, state, settings) => remove({ question, state, settings })),
  needsRollback,
  describeDesired,
  getTarget: selectTarget,
};

interface PlanRequest {
  readonly question: LoadBalancerQuestion;
  readonly state: AwsLoadBalancerState;
  readonly settings: Settings;
}

const OTHER = { network: "classic", classic: "network" } as const satisfies Record<
  LoadBalancerKind,
  LoadBalancerKind
>;

/**
 * Plans the load balancer of the desired type. One of the other type is found by its own API and removed only
 * if the operator allows it. The new one must exist and the status must name it first, so that clients have
 * time to find it. Leftovers of an interrupted removal are removed too.
 */
function ensure(kind: LoadBalancerKind, request: PlanRequest): LoadBalancerStep {
  const other = OTHER[kind];
  const isOtherPresent = hasOwnBalancer(other, request);
  const { replaceOnTypeChange } = getConfiguration(request.settings);
  if (isOtherPresent && replaceOnTypeChange !== true && !isPublished(kind, request))
    return { kind: "refused", issue: rejectTypeChange(kind, request) };
  const step = plan(kind, request);
  if (step.kind !== "settled" || (isOtherPresent && !isPublished(kind, request))) return step;
  const removal = plan(other, { ...request, question: { ...request.question, wanted: false } });
  return removal.kind === "settled" ? step : removal;
}

/** Removes everything of both types. */
function remove(request: PlanRequest): LoadBalancerStep {
  const network = plan("network", request);
  if (network.kind === "act") return network;
  const classic = plan("classic", request);
  return classic.kind === "act" || network.kind === "settled" ? classic : network;
}

function plan(kind: LoadBalancerKind, { question, state, settings }: PlanRequest): LoadBalancerStep {
  if (kind === "classic") return planClassic(question, state, settings);
  const context = contextFor(question.service, state, settings);
  // No resource can have such a name.
  return context === undefined ? NOTHING_LEFT : planNetwork(question, context);
}

const NOTHING_LEFT: LoadBalancerStep = { kind: "settled", ingress: [], warnings: [] };

function hasOwnBalancer(kind: LoadBalancerKind, { question, state, settings }: PlanRequest): boolean {
  if (kind === "classic") return isOwnClassicBalancer(buildClassicContext(question, state, settings));
  const context = contextFor(question.service, state, settings);
  return context !== undefined && isOwnBalancer(context);
}

/** Whether the status names the load balancer of a type by its current DNS name. */
function isPublished(kind: LoadBalancerKind, { question, state }: PlanRequest): boolean {
  const { DNSName } = (kind === "network" ? state.network : state.classic)?.loadBalancer ?? {};
  const ingress = question.service.status?.loadBalancer?.ingress ?? [];
  return DNSName !== undefined && ingress.some(({ hostname }) => hostname === DNSName);
}

function rejectTypeChange(kind: LoadBalancerKind, { question }: PlanRequest) {
  const { metadata, spec } = question.service;
  const isClass = spec.loadBalancerClass !== undefined;
  return {
    code: "TypeChanged",
    field: isClass ? "spec.loadBalancerClass" : TYPE,
    value: isClass ? spec.loadBalancerClass : metadata.annotations?.[TYPE],
    allowed: `the type of the existing load balancer, which is ${OTHER[kind]}`,
    detail: "set cloud.replaceOnTypeChange to have it replaced",
  };
}
