import { buildClusterEvent } from "#core/cluster-events.ts";
import type { Decision } from "#core/decision.ts";
import { leaveUnchanged, retry, toReference } from "#core/decisions.ts";
import type { Reason } from "#core/reason.ts";
import { SERVICES } from "#core/resources/resource.ts";
import { buildActions, changeOr, waitForCloud } from "#core/service/changes.ts";
import type { Claimant } from "#core/service/claims.ts";
import type { DeletionVisibility } from "#core/service/deletion-visibility.ts";
import { rejectWithIssue } from "#core/service/issue-decisions.ts";
import { IN_PROGRESS } from "#core/service/issues.ts";
import type { LoadBalancerStep } from "#core/service/model.ts";
import type { Service } from "#core/service/service.ts";
import type { StateAnnotation } from "#core/service/state-annotation.ts";
import {
  claimLeaving,
  planServiceEdit,
  release,
  releaseWithoutStatus,
  writeLeaving,
  writeRollback,
} from "#core/service/writes.ts";

/** Who removes, and what is known of how soon the cloud shows what was made last. */
interface CleanupContext {
  readonly visibility: DeletionVisibility;
  readonly claimant: Claimant;
}

/** Decides on a Service that leaves: first the load balancer, then status, finalizer and annotation. */
export function removeLoadBalancer(
  service: Service,
  step: LoadBalancerStep,
  { visibility, claimant }: CleanupContext,
): Decision {
  const { now } = claimant;
  const reference = toReference(SERVICES, service);
  const otherwise = leaveUnchanged(reference);
  switch (step.kind) {
    case "act": {
      const details = { because: step.because, events: [DELETING] };
      const claimed = claimLeaving(service, claimant);
      return changeOr(
        service,
        [claimed, ...buildActions(service, claimed, step.actions)],
        details,
        otherwise,
      );
    }
    case "write": {
      const writes = [planServiceEdit(service, step.edit)];
      return changeOr(service, writes, { because: step.because }, waitForCloud(service, step));
    }
    case "wait":
      return waitForCloud(service, step);
    case "refused":
      return rejectWithIssue(service, step.issue, now);
    case "foreign":
      // Nothing of ours exists here, otherwise the Service would not belong to another controller.
      return changeOr(service, [release(service)], { because: RELEASED }, otherwise);
    case "handed-over":
    case "settled":
      if (step.kind === "settled" && step.ingress.length > 0)
        return retry(reference, SOMETHING_LEFT, SOMETHING_LEFT_SECONDS);
      if (visibility.kind === "unknown-since")
        return changeOr(
          service,
          [writeLeaving(service, visibility.annotation, now)],
          { because: CHECKING_VISIBILITY },
          otherwise,
        );
      if (visibility.kind === "look-again")
        return retry(reference, CHECKING_VISIBILITY, visibility.afterSeconds);
      return changeOr(
        service,
        [step.kind === "handed-over" ? releaseWithoutStatus(service) : release(service)],
        { because: RELEASED, events: [DELETED] },
        otherwise,
      );
  }
}

/** Removes what was created for a Service that cannot have a load balancer. */
export function rollBackCreation(
  service: Service,
  annotation: StateAnnotation,
  step: LoadBalancerStep,
  claimant: Claimant,
): Decision {
  const isGone = step.kind === "handed-over" || (step.kind === "settled" && step.ingress.length === 0);
  if (!isGone) return removeLoadBalancer(service, step, { visibility: CERTAIN, claimant });
  const { version: _, uid: __, ...facts } = annotation;
  const rollbackWrite = writeRollback(service, {
    ...facts,
    state: "refused",
    at: claimant.now.toISOString(),
  });
  return changeOr(
    service,
    [rollbackWrite],
    { because: ROLLED_BACK },
    leaveUnchanged(toReference(SERVICES, service)),
  );
}

const CERTAIN: DeletionVisibility = { kind: "none" };

const DELETING = buildClusterEvent("DeletingLoadBalancer", "Deleting", {});
const DELETED = buildClusterEvent("DeletedLoadBalancer", "Deleted", {});

const SOMETHING_LEFT_SECONDS = 10;
const SOMETHING_LEFT: Reason = { code: IN_PROGRESS, message: "something of the load balancer is left" };
const CHECKING_VISIBILITY: Reason = {
  code: IN_PROGRESS,
  message: "nothing of the load balancer is seen, but what was made last may not be shown yet",
};
const RELEASED: Reason = { code: "LoadBalancerDeleted", message: "nothing of the load balancer is left" };
const ROLLED_BACK: Reason = {
  code: "LoadBalancerUndone",
  message: "nothing is left of what was made before the cloud refused the rest",
};
