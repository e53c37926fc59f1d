import type { CapabilityErrorCode } from "#core/capability.ts";
import { tell } from "#core/cluster-events.ts";
import type { Because, Change, ClusterEvent, Decision } from "#core/decision.ts";
import { referenceTo, retry } from "#core/decisions.ts";
import { SERVICES } from "#core/resources/resource.ts";
import { markOf, UNKNOWN_TARGETS } from "#core/service/mark.ts";
import type { Problem } from "#core/service/model.ts";
import { asksForLoadBalancer } from "#core/service/needs-work.ts";
import { IN_PROGRESS, toldCodeOf } from "#core/service/problems.ts";
import type { Service } from "#core/service/service.ts";
import type { Wish } from "#core/service/standing.ts";
import { allowedIn, fieldIn, valueIn } from "#core/tenant-fact.ts";

/** A decision that changes nothing. */
export type Undone = Exclude<Decision, Change>;

/** A decision to look at the Service again later. */
export type Retry = Extract<Decision, { readonly kind: "retry" }>;

/** A Warning about a problem: sentences are the catalogue's, and the facts the Service's own. */
export function warningOf(service: Service, problem: Problem): ClusterEvent {
  if (!asksForLoadBalancer(service)) {
    const code = problem.code === "DeletionProtected" ? problem.code : "LoadBalancerRefused";
    return tell("DeleteLoadBalancerFailed", code, {});
  }
  const facts = { field: fieldIn(problem), value: valueIn(problem, service), allowed: allowedIn(problem) };
  return tell("SyncLoadBalancerFailed", toldCodeOf(problem), facts);
}

/** The Warnings about a refusal: ours, and a second one where the cloud's stock controller has a reason of its own for it. */
function listWarnings(service: Service, problem: Problem): readonly ClusterEvent[] {
  const { code, stockReason } = problem;
  const warning = warningOf(service, problem);
  if (stockReason === undefined) return [warning];
  const facts = { field: fieldIn(problem), value: valueIn(problem, service), allowed: allowedIn(problem) };
  return code === "NodesWithoutPublicAddress"
    ? [warning, tell(stockReason, code, {})]
    : [warning, tell(stockReason, "InvalidAnnotation", facts)];
}

/** A problem in a sentence for the operator. */
export function sentenceOf({ code, field, value, allowed, detail }: Problem): string {
  const said = field === undefined ? undefined : `${field}${value === undefined ? "" : ` is "${value}"`}`;
  const parts = [said, allowed === undefined ? undefined : `allowed: ${allowed}`, detail];
  const known = parts.filter((part) => part !== undefined);
  return known.length === 0 ? code : known.join("; ");
}

/** Leaves the Service with what it has, until somebody mends it or the cloud is another one by then. */
export function refusal(service: Service, problem: Problem, now: Date): Retry {
  const because = { code: problem.code, message: sentenceOf(problem) };
  const afterSeconds = growing(REFUSED_SECONDS, service, now);
  return retry(referenceTo(SERVICES, service), because, afterSeconds, listWarnings(service, problem));
}

/**
 * Leaves the Service with what it has, as the cloud did not answer: nothing is gone because of that. The Service is told within ten
 * seconds where something of it waits. Without `wish` its annotation alone says so; a failed audit is not told.
 */
export function unanswered(
  service: Service,
  answer: { readonly code: CapabilityErrorCode; readonly message: string } | undefined,
  now: Date,
  wish?: Wish,
): Retry {
  const { code, message } = answer ?? NO_ANSWER;
  const { fromSeconds, toldAfterSeconds } = ERRORS[code];
  const isWarned = isWaiting(service, wish) && secondsOf(service, now, toldAfterSeconds) >= toldAfterSeconds;
  const reason = asksForLoadBalancer(service) ? "SyncLoadBalancerFailed" : "DeleteLoadBalancerFailed";
  const events = isWarned ? [tell(reason, "CloudUnavailable", {})] : [];
  const afterSeconds =
    code === "Denied" || code === "Invalid" ? growing(fromSeconds, service, now) : fromSeconds;
  return retry(referenceTo(SERVICES, service), { code, message }, afterSeconds, events);
}

/** Looks again at targets that may come, the more seldom the longer they have been waited for. */
export function awaitingTargets(service: Service, { code, message }: Because, now: Date): Retry {
  const since = markOf(service)?.at;
  const seconds = since === undefined ? 0 : (now.getTime() - Date.parse(since)) / 1_000;
  const afterSeconds = Math.round(Math.min(LONGEST_SECONDS, Math.max(AWAITED_SECONDS, seconds)));
  return retry(
    referenceTo(SERVICES, service),
    { code: IN_PROGRESS, message: `${code}: ${message}` },
    afterSeconds,
  );
}

const AWAITED_SECONDS = 5;

/** Waits that grow with the time for which something was to be done end here. */
const LONGEST_SECONDS = 300;
const REFUSED_SECONDS = 30;
/** A fault that ends within so many seconds is not told. With tries 3 s apart a longer one is told within 10 s. */
const LASTING_SECONDS = 5;

interface Handling {
  /** The first wait. */
  readonly fromSeconds: number;
  /** How long the Service has waited when it is told; 0 where the next try is too late for that. */
  readonly toldAfterSeconds: number;
}

const ERRORS: Readonly<Record<CapabilityErrorCode, Handling>> = {
  Throttled: { fromSeconds: 3, toldAfterSeconds: LASTING_SECONDS },
  // The function's own time was up, which says nothing of the cloud.
  Aborted: { fromSeconds: 0.5, toldAfterSeconds: Number.POSITIVE_INFINITY },
  Unavailable: { fromSeconds: 3, toldAfterSeconds: LASTING_SECONDS },
  Denied: { fromSeconds: 30, toldAfterSeconds: 0 },
  Invalid: { fromSeconds: 30, toldAfterSeconds: 0 },
};

const NO_ANSWER = { code: "Unavailable", message: "the cloud has not been asked about the Service" } as const;

function growing(fromSeconds: number, service: Service, now: Date): number {
  return Math.round(Math.min(LONGEST_SECONDS, Math.max(fromSeconds, secondsOf(service, now))));
}

/** Whether something of a Service waits for the cloud, beside an audit of it. */
function isWaiting(service: Service, wish: Wish | undefined): boolean {
  const mark = markOf(service);
  if (service.metadata.deletionTimestamp !== undefined || mark?.state !== "applied") return true;
  if (mark.targets === UNKNOWN_TARGETS) return true;
  return wish !== undefined && (mark.seen !== wish.hashes.seen || mark.targets !== wish.hashes.targets);
}

/**
 * Seconds for which something has been to be done: since its deletion, since our annotation says that something is under way, or
 * since it was created. `unknown` where nothing tells.
 */
function secondsOf(service: Service, now: Date, unknown = 0): number {
  const { creationTimestamp, deletionTimestamp } = service.metadata;
  const mark = markOf(service);
  const since = deletionTimestamp ?? (mark === undefined ? creationTimestamp : mark.at);
  const isKnown = deletionTimestamp !== undefined || mark?.state !== "applied";
  const seconds = (now.getTime() - Date.parse(since)) / 1_000;
  return isKnown && Number.isFinite(seconds) ? Math.max(0, seconds) : unknown;
}
