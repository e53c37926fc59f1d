import type { CapabilityErrorCode } from "#core/capability.ts";
import { tell } from "#core/cluster-events.ts";
import type { Change, ClusterEvent, Decision } from "#core/decision.ts";
import { referenceTo, retry } from "#core/decisions.ts";
import { SERVICES } from "#core/resources/resource.ts";
import { markOf } from "#core/service/mark.ts";
import type { Problem } from "#core/service/model.ts";
import { asksForLoadBalancer } from "#core/service/needs-work.ts";
import { toldCodeOf } from "#core/service/problems.ts";
import type { Service } from "#core/service/service.ts";
import { allowedIn, fieldIn, valueIn } from "#core/tenant-fact.ts";

/** A decision that changes nothing. */
export type Undone = Exclude<Decision, Change>;

/** A Warning about a problem: sentences are the catalogue's, and the facts the Service's own. */
export function warningOf(service: Service, problem: Problem): ClusterEvent {
  if (!asksForLoadBalancer(service)) {
    const code = problem.code === "DeletionProtected" ? problem.code : "LoadBalancerRefused";
    return tell("DeleteLoadBalancerFailed", code, {});
  }
  const facts = { field: fieldIn(problem), value: valueIn(problem, service), allowed: allowedIn(problem) };
  return tell("SyncLoadBalancerFailed", toldCodeOf(problem), facts);
}

/** A problem in a sentence for the operator. */
export function sentenceOf({ code, field, value, allowed, detail }: Problem): string {
  const said = field === undefined ? undefined : `${field}${value === undefined ? "" : ` is "${value}"`}`;
  const parts = [said, allowed === undefined ? undefined : `allowed: ${allowed}`, detail];
  const known = parts.filter((part) => part !== undefined);
  return known.length === 0 ? code : known.join("; ");
}

/** Leaves the Service with what it has, until somebody mends it or the cloud is another one by then. */
export function refusal(service: Service, problem: Problem, now: Date): Undone {
  const because = { code: problem.code, message: sentenceOf(problem) };
  const afterSeconds = growing(REFUSED_SECONDS, service, now);
  return retry(referenceTo(SERVICES, service), because, afterSeconds, [warningOf(service, problem)]);
}

/** Leaves the Service with what it has, as the cloud did not answer: nothing is gone because of that. */
export function unanswered(
  service: Service,
  answer: { readonly code: CapabilityErrorCode; readonly message: string } | undefined,
  now: Date,
): Undone {
  const { code, message } = answer ?? NO_ANSWER;
  const { fromSeconds, isTold } = ERRORS[code];
  const isWarned = isTold && secondsOf(service, now) >= LASTING_SECONDS;
  const reason = asksForLoadBalancer(service) ? "SyncLoadBalancerFailed" : "DeleteLoadBalancerFailed";
  const events = isWarned ? [tell(reason, "CloudUnavailable", {})] : [];
  const afterSeconds =
    code === "Denied" || code === "Invalid" ? growing(fromSeconds, service, now) : fromSeconds;
  return retry(referenceTo(SERVICES, service), { code, message }, afterSeconds, events);
}

/** Waits that grow with the time for which something was to be done end here. */
const LONGEST_SECONDS = 300;
const REFUSED_SECONDS = 30;
/** What is over by then nobody needs to hear of. */
const LASTING_SECONDS = 60;

/** A throttle is the account's, and no Service's. */
const ERRORS: Readonly<
  Record<CapabilityErrorCode, { readonly fromSeconds: number; readonly isTold: boolean }>
> = {
  Throttled: { fromSeconds: 3, isTold: false },
  Aborted: { fromSeconds: 0.5, isTold: false },
  Unavailable: { fromSeconds: 3, isTold: true },
  Denied: { fromSeconds: 30, isTold: true },
  Invalid: { fromSeconds: 30, isTold: true },
};

const NO_ANSWER = { code: "Unavailable", message: "the cloud has not been asked about the Service" } as const;

function growing(fromSeconds: number, service: Service, now: Date): number {
  return Math.round(Math.min(LONGEST_SECONDS, Math.max(fromSeconds, secondsOf(service, now))));
}

/**
 * Seconds for which something has been to be done: since its deletion, since our annotation says that something is under way, or
 * since it was created. 0 where nothing tells.
 */
function secondsOf(service: Service, now: Date): number {
  const { creationTimestamp, deletionTimestamp } = service.metadata;
  const mark = markOf(service);
  const since = deletionTimestamp ?? (mark === undefined ? creationTimestamp : mark.at);
  const isKnown = deletionTimestamp !== undefined || mark?.state !== "applied";
  const seconds = (now.getTime() - Date.parse(since)) / 1_000;
  return isKnown && Number.isFinite(seconds) ? Math.max(0, seconds) : 0;
}
