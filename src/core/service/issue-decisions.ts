import type { CapabilityErrorCode } from "#core/capability.ts";
import { buildClusterEvent } from "#core/cluster-events.ts";
import type { RejectedAction } from "#core/controller.ts";
import type { Change, ClusterEvent, Decision } from "#core/decision.ts";
import { retry, toReference } from "#core/decisions.ts";
import type { Reason } from "#core/reason.ts";
import { SERVICES } from "#core/resources/resource.ts";
import { IN_PROGRESS, toIssueCode } from "#core/service/issues.ts";
import type { Issue, LoadBalancerAction, LoadBalancerModel } from "#core/service/model.ts";
import { isLoadBalancerService } from "#core/service/needs-work.ts";
import type { DesiredLoadBalancer } from "#core/service/phase.ts";
import type { Service } from "#core/service/service.ts";
import { parseStateAnnotation, UNKNOWN_TARGETS } from "#core/service/state-annotation.ts";
import { getAllowedFact, getFieldFact, getValueFact } from "#core/tenant-fact.ts";

/** A decision that changes nothing. */
export type NoChangeDecision = Exclude<Decision, Change>;

/** A decision to check the Service again later. */
export type Retry = Extract<Decision, { readonly kind: "retry" }>;

/** Returns the Warning for an issue. The catalogue supplies the sentence, the Service the facts. */
export function buildWarning(service: Service, issue: Issue): ClusterEvent {
  if (!isLoadBalancerService(service)) {
    const isNamed = issue.code === "DeletionProtected" || issue.code === "SecurityGroupHidden";
    const code = isNamed ? issue.code : "LoadBalancerRefused";
    return buildClusterEvent("DeleteLoadBalancerFailed", code, {});
  }
  const facts = {
    field: getFieldFact(issue),
    value: getValueFact(issue, service),
    allowed: getAllowedFact(issue),
  };
  return buildClusterEvent("SyncLoadBalancerFailed", toIssueCode(issue), facts);
}

/**
 * Returns the Warnings about a refusal: ours, and a second one when the cloud's stock controller uses another
 * reason.
 */
function listWarnings(service: Service, issue: Issue): readonly ClusterEvent[] {
  const { code, stockReason } = issue;
  const warning = buildWarning(service, issue);
  if (stockReason === undefined) return [warning];
  const facts = {
    field: getFieldFact(issue),
    value: getValueFact(issue, service),
    allowed: getAllowedFact(issue),
  };
  return code === "NodesWithoutPublicAddress"
    ? [warning, buildClusterEvent(stockReason, code, {})]
    : [warning, buildClusterEvent(stockReason, "InvalidAnnotation", facts)];
}

/** Returns an issue as a sentence for the operator. */
export function describeIssue({ code, field, value, allowed, detail }: Issue): string {
  const fieldText =
    field === undefined ? undefined : `${field}${value === undefined ? "" : ` is "${value}"`}`;
  const parts = [fieldText, allowed === undefined ? undefined : `allowed: ${allowed}`, detail];
  const presentParts = parts.filter((part) => part !== undefined);
  return presentParts.length === 0 ? code : presentParts.join("; ");
}

/**
 * Returns the retry for a Service with an issue. The Service keeps what it has until its owner fixes it or
 * the cloud changes.
 */
export function rejectWithIssue(service: Service, issue: Issue, now: Date): Retry {
  const because = { code: issue.code, message: describeIssue(issue) };
  const afterSeconds = growRetryDelay(REFUSED_SECONDS, service, now);
  return retry(toReference(SERVICES, service), because, afterSeconds, listWarnings(service, issue));
}

/**
 * Returns the retry when the cloud did not answer; the Service keeps what it has. A Warning follows within
 * ten seconds if something of the Service waits. Without `desired`, the annotation decides that; a failed
 * audit causes no Warning.
 */
export function retryUnanswered(
  service: Service,
  answer: { readonly code: CapabilityErrorCode; readonly message: string } | undefined,
  now: Date,
  desired?: DesiredLoadBalancer,
): Retry {
  const { code, message } = answer ?? NO_ANSWER;
  const { fromSeconds, toldAfterSeconds } = ERRORS[code];
  const isWarned =
    isWaiting(service, desired) && countSecondsPending(service, now, toldAfterSeconds) >= toldAfterSeconds;
  const reason = isLoadBalancerService(service) ? "SyncLoadBalancerFailed" : "DeleteLoadBalancerFailed";
  const events = isWarned ? [buildClusterEvent(reason, "CloudUnavailable", {})] : [];
  const afterSeconds =
    code === "Denied" || code === "Invalid" ? growRetryDelay(fromSeconds, service, now) : fromSeconds;
  return retry(toReference(SERVICES, service), { code, message }, afterSeconds, events);
}

/** Returns the retry for targets that may still come; the interval grows with the waiting time. */
export function retryForTargets(service: Service, { code, message }: Reason, now: Date): Retry {
  const since = parseStateAnnotation(service)?.at;
  const seconds = since === undefined ? 0 : (now.getTime() - Date.parse(since)) / 1_000;
  const afterSeconds = Math.round(Math.min(LONGEST_SECONDS, Math.max(AWAITED_SECONDS, seconds)));
  return retry(
    toReference(SERVICES, service),
    { code: IN_PROGRESS, message: `${code}: ${message}` },
    afterSeconds,
  );
}

const AWAITED_SECONDS = 5;

/** The maximum of growing intervals. */
const LONGEST_SECONDS = 300;
const REFUSED_SECONDS = 30;
/**
 * A failure that ends within these seconds causes no Warning. With 3 s between tries, a longer one causes a
 * Warning within 10 s.
 */
const LASTING_SECONDS = 5;

interface RetryPolicy {
  /** The first interval. */
  readonly fromSeconds: number;
  /** The waiting time after which the Service gets a Warning; 0 when the next try would be too late. */
  readonly toldAfterSeconds: number;
}

const ERRORS: Readonly<Record<CapabilityErrorCode, RetryPolicy>> = {
  Throttled: { fromSeconds: 3, toldAfterSeconds: LASTING_SECONDS },
  // The function ran out of time, which says nothing about the cloud.
  Aborted: { fromSeconds: 0.5, toldAfterSeconds: Number.POSITIVE_INFINITY },
  Unavailable: { fromSeconds: 3, toldAfterSeconds: LASTING_SECONDS },
  Denied: { fromSeconds: 30, toldAfterSeconds: 0 },
  Invalid: { fromSeconds: 30, toldAfterSeconds: 0 },
};

const NO_ANSWER = { code: "Unavailable", message: "the cloud has not been asked about the Service" } as const;

function growRetryDelay(fromSeconds: number, service: Service, now: Date): number {
  return Math.round(Math.min(LONGEST_SECONDS, Math.max(fromSeconds, countSecondsPending(service, now))));
}

/** Whether something of a Service, other than an audit, waits for the cloud. */
function isWaiting(service: Service, desired: DesiredLoadBalancer | undefined): boolean {
  const stateAnnotation = parseStateAnnotation(service);
  if (service.metadata.deletionTimestamp !== undefined || stateAnnotation?.state !== "applied") return true;
  if (stateAnnotation.targets === UNKNOWN_TARGETS) return true;
  return (
    desired !== undefined &&
    (stateAnnotation.seen !== desired.hashes.seen || stateAnnotation.targets !== desired.hashes.targets)
  );
}

/**
 * Seconds since work became due: since the deletion, since the annotation records work in progress, or since
 * the creation. Returns `unknown` when none of these is available.
 */
function countSecondsPending(service: Service, now: Date, unknown = 0): number {
  const { creationTimestamp, deletionTimestamp } = service.metadata;
  const stateAnnotation = parseStateAnnotation(service);
  const since = deletionTimestamp ?? (stateAnnotation === undefined ? creationTimestamp : stateAnnotation.at);
  const isKnown = deletionTimestamp !== undefined || stateAnnotation?.state !== "applied";
  const seconds = (now.getTime() - Date.parse(since)) / 1_000;
  return isKnown && Number.isFinite(seconds) ? Math.max(0, seconds) : unknown;
}

/** Returns an issue as the reason of a decision. */
export function toReason(issue: Issue): Reason {
  return { code: issue.code, message: describeIssue(issue) };
}

/** What the cloud's rejection of an action means for a Service. */
export interface Rejection {
  readonly action: LoadBalancerAction;
  /** The problem to fix; undefined if the cloud's answer names none. */
  readonly issue?: Issue;
  readonly retry: Retry;
  /** The rejection lasts until a person fixes something. */
  readonly isLasting: boolean;
}

/**
 * Returns what a rejected action means. Undefined if the object is read and observed again. Temporary failures
 * are retried soon; the others last until a person fixes something.
 */
export function readRejection(
  service: Service,
  { action, answer }: RejectedAction,
  model: LoadBalancerModel | undefined,
  now: Date,
): Rejection | undefined {
  const { kind, reason, message } = answer;
  // Whatever error code the cloud uses: a throttled request, or one that we aborted, is a temporary failure.
  const isTemporary = kind === "error" && (answer.code === "Throttled" || answer.code === "Aborted");
  const named = isTemporary ? undefined : model?.toIssue?.(action, { kind, reason }, service);
  if (named === undefined && kind === "conflict") return undefined;
  if (named === undefined && kind === "error" && answer.code !== "Invalid")
    return { action, retry: retryUnanswered(service, answer, now), isLasting: answer.code === "Denied" };
  const issue = { detail: message, ...(named ?? { code: "LoadBalancerRefused" }) };
  return { action, issue, retry: rejectWithIssue(service, issue, now), isLasting: true };
}
