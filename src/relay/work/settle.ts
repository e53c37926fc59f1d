import type { ObjectReport } from "#core/report.ts";
import { applyConflict, applyOwnChange, hasten, isNews } from "#relay/work/apply-observed.ts";
import {
  createFreePhase,
  type Entry,
  type EntryHistory,
  type InFlight,
  isNewDeletion,
  type Resync,
  replaceNext,
  type Work,
} from "#relay/work/entry.ts";
import {
  applyFailure,
  applyRefusal,
  type InFlightEntry,
  type SettlementContext,
} from "#relay/work/in-flight.ts";
import {
  dropOwnDrift,
  planAfterFailedResync,
  recordResync,
  requeue,
  retryResync,
} from "#relay/work/resync.ts";
import type { Settlement } from "#relay/work/types.ts";
import { getRetryEnd, getWaitEnd } from "#relay/work/waits.ts";

/**
 * From this failure in a row on, the two halves of an invocation come back separately, because one object may
 * cause the failures.
 */
const HALVED_FROM = 4;

/** Returns the entry after the end of its invocation. */
export function settleEntry(
  entry: InFlightEntry,
  settlement: Settlement,
  settling: SettlementContext,
): Entry {
  const after = applySettlement(entry, settlement, settling);
  if (entry.kept === undefined) return after;
  // The invocation carried the state before the change, or it failed and no work is left that would be sent
  // again.
  const isUntold = entry.phase.isRequeued || (isInVain(settlement) && after.phase.next === undefined);
  return isUntold ? requeue(after, settling.nowMs) : after;
}

function isInVain(settlement: Settlement): boolean {
  return settlement.kind !== "report" || settlement.report.outcome === "retry";
}

function applySettlement(entry: InFlightEntry, settlement: Settlement, settling: SettlementContext): Entry {
  switch (settlement.kind) {
    case "report":
      return applyReport(entry, settlement.report, settling);
    case "failed":
      return applyFailure(entry, settlement.settleMs, settling);
    case "refused":
      return applyRefusal(entry);
  }
}

/** Returns whether the object's invocations have failed so often that its batch must be halved. */
export function isHalved({ history }: Entry): boolean {
  return history.failures >= HALVED_FROM - 1;
}

/**
 * Returns the entry after its time is up: no function writes to it any more, or it is read, and read again.
 */
export function applyTimeout(entry: Entry, nowMs: number): Entry {
  const { phase } = entry;
  switch (phase.kind) {
    case "lost":
      return { ...entry, phase: createFreePhase(phase.next) };
    case "unconfirmed":
      return { ...entry, phase: { ...phase, untilMs: nowMs + UNCONFIRMED_LIMIT_MS } };
    case "idle":
    case "due":
    case "in-flight":
      return entry;
  }
}

/** How long the watch may take to show a write that a report names. */
const UNCONFIRMED_LIMIT_MS = 5_000;

/** Returns the entry after a report on its object. */
function applyReport(flying: InFlightEntry, report: ObjectReport, settling: SettlementContext): Entry {
  const { phase: invocation } = flying;
  const entry = endInvocation(flying, report, settling.nowMs);
  const { task } = invocation;
  if (task.queue === "look") return applyResyncReport(entry, task, invocation, report, settling);
  const { next } = entry.phase;
  if (report.outcome === "changed" && (report.resourceVersion !== undefined || next?.queue !== "work")) {
    return applyReportedChange(entry, task, settling);
  }
  if (next?.queue === "work") return keepWork(entry, next, task, invocation, report, settling);
  // The work was done meanwhile. It was ours if an earlier invocation was lost and nothing is left to do.
  const isOurs = task.mayBeDone && report.outcome !== "retry";
  return isOurs ? applyOwnChange(entry, task.snapshot, settling.nowMs, settling.rules) : entry;
}

/** Ends the invocation; the entry waits for the watch if it has not yet shown the write. */
function endInvocation(flying: InFlightEntry, report: ObjectReport, nowMs: number): Entry {
  const { phase: invocation } = flying;
  const {
    resourceVersion: version,
    seen: written = flying.history.written,
    said: reportedWarnings = flying.history.reportedWarnings,
  } = report;
  const past = {
    ...flying.history,
    written,
    reportedWarnings,
    candidates: mergeCandidates(flying.history, report, nowMs),
  };
  const next = dropOwnDrift(invocation.next, flying.fingerprint, past);
  if (version === undefined || invocation.isOutdated || !isNews(flying, version)) {
    return { ...flying, history: past, phase: createFreePhase(next) };
  }
  const untilMs = nowMs + UNCONFIRMED_LIMIT_MS;
  return { ...flying, history: past, phase: { kind: "unconfirmed", version, untilMs, next } };
}

/** A deletion candidate that a report omits starts again when it is named later. */
function mergeCandidates(
  { candidates: known }: EntryHistory,
  { candidates = [] }: ObjectReport,
  nowMs: number,
): EntryHistory["candidates"] {
  if (candidates.length === 0) return undefined;
  return new Map(candidates.map((id) => [id, known?.get(id) ?? nowMs]));
}

function applyResyncReport(
  entry: Entry,
  sent: Resync,
  { startedMs }: InFlight,
  { outcome, afterSeconds }: ObjectReport,
  settling: SettlementContext,
): Entry {
  const hasFailed = outcome === "retry";
  const { nowMs, draw, rules } = settling;
  const past = recordResync(entry.history, startedMs, hasFailed, rules);
  const { next: planned } = entry.phase;
  if (!hasFailed || planned?.queue === "work") return { ...entry, history: past };
  const { dueMs } = getRetryEnd(afterSeconds, entry.history.failedResyncs + 1, { fromMs: nowMs, draw });
  const next = retryResync(sent, entry.history, { dueMs, wait: "retry" }, rules);
  return { ...entry, history: past, phase: replaceNext(entry.phase, planAfterFailedResync(next, planned)) };
}

/** A lasting state is checked again this soon after a change; after that the next report says when. */
const MONITORED_AGAIN_SECONDS = 5;

function applyReportedChange(entry: Entry, sent: Work, { nowMs, draw, rules }: SettlementContext): Entry {
  const { next } = entry.phase;
  const changed = applyOwnChange(entry, sent.snapshot, nowMs, rules);
  // The watch may have shown since then that the work is undone; otherwise it counts as done.
  const isShown = entry.phase.kind !== "unconfirmed";
  if (!isShown || next?.queue !== "work") return changed;
  if (rules.monitors !== true) return applyConflict(changed, next, nowMs);
  const departure = getRetryEnd(MONITORED_AGAIN_SECONDS, 1, { fromMs: nowMs, draw });
  const tried = { fingerprint: next.fingerprint, demand: next.demand, atMs: nowMs };
  return { ...changed, phase: replaceNext(changed.phase, { ...next, ...departure, wait: "retry", tried }) };
}

function keepWork(
  entry: Entry,
  next: Work,
  sent: Work,
  { startedMs, isRequeued }: InFlight,
  { outcome, afterSeconds, seen, resourceVersion }: ObjectReport,
  { nowMs, draw }: SettlementContext,
): Entry {
  const isRetry = outcome === "retry";
  // The watch's last version is what this very invocation wrote.
  const isOwnVersion = resourceVersion !== undefined && resourceVersion === entry.version;
  const failures = entry.history.failures + 1;
  const past = { ...entry.history, failures };
  const from = { fromMs: nowMs, draw };
  const departure = isRetry
    ? getRetryEnd(afterSeconds, failures, from)
    : getWaitEnd("disagreed", failures, from);
  const work: Work = {
    ...next,
    ...departure,
    ...(isRequeued ? { dueMs: nowMs } : {}),
    wait: isRetry ? "retry" : "disagreed",
    tried: {
      fingerprint: seen ?? sent.fingerprint,
      demand: isOwnVersion ? next.demand : sent.demand,
      atMs: startedMs,
    },
    // A change without a version was made outside of the API server: the watch must still show that the
    // object needs no work.
    mayBeDone: outcome === "changed" || (sent.mayBeDone && !isRetry),
  };
  const hasChanged =
    next.fingerprint !== sent.fingerprint ||
    next.demand !== work.tried?.demand ||
    isNewDeletion(past, next.snapshot);
  return {
    ...entry,
    history: past,
    phase: replaceNext(entry.phase, hasChanged ? hasten(work, past, nowMs) : work),
  };
}
