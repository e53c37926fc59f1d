import { buildClusterEvent } from "#core/cluster-events.ts";
import type { ClusterEvent, Decision } from "#core/decision.ts";
import { leaveUnchanged, retry, skip, toReference } from "#core/decisions.ts";
import type { Reason } from "#core/reason.ts";
import { SERVICES } from "#core/resources/resource.ts";
import {
  buildActions,
  buildAnnotationFacts,
  changeOr,
  ELSEWHERE,
  waitForCloud,
} from "#core/service/changes.ts";
import { type Claimant, endClaim } from "#core/service/claims.ts";
import { getCreationRecheckSeconds } from "#core/service/deletion-visibility.ts";
import { buildWarning, retryForTargets, toReason } from "#core/service/issue-decisions.ts";
import { IN_PROGRESS } from "#core/service/issues.ts";
import type { LoadBalancerStep, PossibleStep } from "#core/service/model.ts";
import { getIngress } from "#core/service/needs-work.ts";
import type { DesiredLoadBalancer } from "#core/service/phase.ts";
import type { Ingress, Service } from "#core/service/service.ts";
import {
  type AnnotationFacts,
  formatAwaitedTargets,
  parseStateAnnotation,
} from "#core/service/state-annotation.ts";
import {
  claim,
  claimTargets,
  getPreviousClaim,
  planServiceEdit,
  writeApplied,
  writeIdleClaim,
} from "#core/service/writes.ts";

/** Decides on a Service whose load balancer is wanted, by the next step of the cloud's model. */
export function ensureLoadBalancer(
  service: Service,
  desired: DesiredLoadBalancer,
  step: PossibleStep,
  claimant: Claimant,
): Decision {
  const reference = toReference(SERVICES, service);
  const { now } = claimant;
  const facts = buildAnnotationFacts(desired, getIngress(service), now);
  switch (step.kind) {
    case "act": {
      const afterSeconds = step.once === true ? getCreationRecheckSeconds(service, now) : undefined;
      if (afterSeconds !== undefined) return retry(reference, MAYBE_MADE, afterSeconds);
      const claimed =
        step.onlyTargets === true
          ? claimTargets(service, facts, claimant)
          : claim(service, facts, claimant, step.once);
      const writes = [claimed, ...buildActions(service, claimed, step.actions)];
      return changeOr(
        service,
        writes,
        { because: step.because, events: [ENSURING] },
        leaveUnchanged(reference),
      );
    }
    case "write": {
      // One after the other, because the first may have created what the second one changes.
      const next = claim(service, facts, claimant) ?? planServiceEdit(service, step.edit);
      return changeOr(service, [next], { because: step.because }, waitForCloud(service, step));
    }
    case "wait":
      return changeOr(
        service,
        [writeIdleClaim(service, facts, claimant)],
        { because: step.because },
        waitForCloud(service, step),
      );
    case "handed-over":
      return finishService(
        service,
        desired,
        { ingress: getIngress(service), warnings: step.warnings },
        claimant,
      );
    case "foreign":
      return skip(reference, ELSEWHERE);
    case "settled":
      // A load balancer without an address does not serve yet, and does not clear the status.
      return step.ingress.length === 0
        ? retry(reference, NO_ADDRESS, NO_ADDRESS_SECONDS)
        : finishService(
            service,
            desired,
            { ...step, ingress: step.ingress.map(withDefaultIpMode) },
            claimant,
          );
  }
}

/** Writes the status and the state annotation of a load balancer that is complete. */
export function finishService(
  service: Service,
  desired: DesiredLoadBalancer,
  { ingress, warnings, awaits }: Omit<Extract<LoadBalancerStep, { kind: "settled" }>, "kind">,
  claimant: Claimant,
): Decision {
  const making = endClaim(getPreviousClaim(service), claimant);
  const complete = buildAnnotationFacts(desired, ingress, claimant.now);
  const targets = awaits === undefined ? complete.targets : formatAwaitedTargets(complete.targets);
  const facts = { ...complete, targets, ...(making === undefined ? {} : { making }) };
  const events = [
    ...buildEvents(service, desired, facts),
    ...warnings.map((issue) => buildWarning(service, issue)),
  ];
  const because = { code: "LoadBalancerEnsured", message: describeIngress(ingress) };
  const details = { because, events, warnings: warnings.map(toReason) };
  return changeOr(
    service,
    [writeApplied(service, ingress, facts)],
    details,
    awaits === undefined
      ? leaveUnchanged(toReference(SERVICES, service))
      : retryForTargets(service, awaits, claimant.now),
  );
}

/** Returns the Events that tell the Service's users what changed. */
function buildEvents(
  service: Service,
  { nodes }: DesiredLoadBalancer,
  facts: AnnotationFacts,
): ClusterEvent[] {
  const previous = parseStateAnnotation(service);
  const isSameState = previous?.desired === facts.desired && previous.ingress === facts.ingress;
  const hasNewTargets = previous?.targets !== facts.targets;
  if (isSameState && !hasNewTargets) return [];
  if (nodes.nodes.length === 0) return [UNAVAILABLE];
  return [isSameState ? UPDATED : ENSURED];
}

/** The API server sets a default `ipMode`; without it the status would differ from what we wrote. */
function withDefaultIpMode(ingress: Ingress): Ingress {
  return ingress.ip === undefined || ingress.ipMode !== undefined ? ingress : { ...ingress, ipMode: "VIP" };
}

function describeIngress(ingress: readonly Ingress[]): string {
  if (ingress.length === 0)
    return "the load balancer is there, and the component that writes its status has not done so yet";
  return `the load balancer is at ${ingress.map(({ hostname, ip }) => hostname ?? ip).join(", ")}`;
}

const ENSURING = buildClusterEvent("EnsuringLoadBalancer", "Ensuring", {});
const ENSURED = buildClusterEvent("EnsuredLoadBalancer", "Ensured", {});
const UPDATED = buildClusterEvent("UpdatedLoadBalancer", "Updated", {});
const UNAVAILABLE = buildClusterEvent("UnAvailableLoadBalancer", "NoNodes", {});

const NO_ADDRESS_SECONDS = 5;
const NO_ADDRESS: Reason = { code: IN_PROGRESS, message: "the load balancer has no address yet" };
const MAYBE_MADE: Reason = {
  code: IN_PROGRESS,
  message: "the load balancer is not seen, but was asked for lately and may not be shown yet",
};
