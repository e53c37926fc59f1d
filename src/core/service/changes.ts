import type { CloudAction, Decision, PatchWrite, Write } from "#core/decision.ts";
import { type ChangeDetails, change, retry, toReference } from "#core/decisions.ts";
import { applyOperations } from "#core/json-patch.ts";
import type { Reason } from "#core/reason.ts";
import { SERVICES } from "#core/resources/resource.ts";
import { IN_PROGRESS } from "#core/service/issues.ts";
import { LOAD_BALANCERS, type LoadBalancerAction, type LoadBalancerStep } from "#core/service/model.ts";
import { hashContent, hashIngress } from "#core/service/needs-work.ts";
import type { DesiredLoadBalancer } from "#core/service/phase.ts";
import type { Ingress, Service } from "#core/service/service.ts";
import type { AnnotationFacts } from "#core/service/state-annotation.ts";

/** Returns the change with these writes, or `otherwise` if none of them changes anything. */
export function changeOr(
  service: Service,
  writes: readonly (Write | undefined)[],
  details: ChangeDetails,
  otherwise: Decision,
): Decision {
  return change(toReference(SERVICES, service), writes, details) ?? otherwise;
}

/** Returns the retry for a step that the cloud, or another writer of the Service, has yet to finish. */
export function waitForCloud(
  service: Service,
  step: Extract<LoadBalancerStep, { kind: "wait" | "write" }>,
): Decision {
  const because = { code: IN_PROGRESS, message: `${step.because.code}: ${step.because.message}` };
  const afterSeconds = step.kind === "wait" ? step.afterSeconds : NOTHING_WRITTEN_SECONDS;
  return retry(toReference(SERVICES, service), because, afterSeconds);
}

/**
 * Returns the actions as writes. Each is guarded by the content of the Service and by the claim, both as they
 * were at the decision.
 */
export function buildActions(
  service: Service,
  claimed: PatchWrite | undefined,
  actions: readonly LoadBalancerAction[],
): CloudAction[] {
  const { uid, generation, deletionTimestamp } = service.metadata;
  const precondition = {
    uid,
    ...(generation === undefined ? {} : { generation }),
    content: hashContent(claimed === undefined ? service : applyOperations(service, claimed.patch)),
    deleting: deletionTimestamp !== undefined,
  };
  return actions.map(({ action, target, parameters }) => ({
    on: "cloud",
    capability: LOAD_BALANCERS,
    action,
    target,
    parameters,
    precondition,
  }));
}

/** Returns what the state annotation says once the desired load balancer is applied. */
export function buildAnnotationFacts(
  { hashes, nodes }: DesiredLoadBalancer,
  ingress: readonly Ingress[],
  now: Date,
): AnnotationFacts {
  return {
    ...hashes,
    state: "applied",
    ingress: hashIngress(ingress),
    nodes: nodes.resourceVersion,
    at: now.toISOString(),
  };
}

/** The reason of a Service whose load balancer belongs to another controller. */
export const ELSEWHERE: Reason = { code: "Elsewhere", message: "the load balancer is another controller's" };

/** The delay after a write that changes nothing: its reader sees another value than the one written. */
const NOTHING_WRITTEN_SECONDS = 30;
