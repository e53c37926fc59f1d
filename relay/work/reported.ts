import type { ObjectReport } from "#core/report.ts";
import {
  type Entry,
  followedBy,
  free,
  type InFlight,
  isNewDeletion,
  type Look,
  type Past,
  type Work,
} from "#relay/work/entry.ts";
import { afterLook, lookAgain, withoutOwnDrift } from "#relay/work/looking.ts";
import { changedByUs, hurried, isNews, undone } from "#relay/work/seen.ts";
import type { FlyingEntry, Settling } from "#relay/work/sent.ts";
import { endOfRetry, endOfWait } from "#relay/work/waits.ts";

/** How long the watch may take to show what a report says was written. */
export const UNCONFIRMED_LIMIT_MS = 5_000;

/** The entry after a report on its object. */
export function reported(flying: FlyingEntry, report: ObjectReport, settling: Settling): Entry {
  const { phase: flight } = flying;
  const entry = landed(flying, report, settling.nowMs);
  const { task } = flight;
  if (task.queue === "look") return afterLookOf(entry, task, flight, report, settling);
  const { next } = entry.phase;
  if (report.outcome === "changed" && (report.resourceVersion !== undefined || next?.queue !== "work")) {
    return afterChange(entry, task, settling);
  }
  if (next?.queue === "work") return stillNeeding(entry, next, task, flight, report, settling);
  // Done meanwhile, by somebody: by us, if a flight before this one was lost, and there is nothing left to do.
  const isOurs = task.mayBeDone && report.outcome !== "retry";
  return isOurs ? changedByUs(entry, task.snapshot, settling.nowMs, settling.rules) : entry;
}

/** Out of flight, and waiting for the watch where that has yet to show what was written. */
function landed(flying: FlyingEntry, report: ObjectReport, nowMs: number): Entry {
  const { phase: flight } = flying;
  const { resourceVersion: version, seen: written = flying.past.written, said = flying.past.said } = report;
  const past = { ...flying.past, written, said, candidates: candidatesAfter(flying.past, report, nowMs) };
  const next = withoutOwnDrift(flight.next, flying.fingerprint, past);
  if (version === undefined || flight.isOfThePast || !isNews(flying, version)) {
    return { ...flying, past, phase: free(next) };
  }
  const untilMs = nowMs + UNCONFIRMED_LIMIT_MS;
  return { ...flying, past, phase: { kind: "unconfirmed", version, untilMs, next } };
}

/** A candidate that a report leaves out begins anew when it is named again. */
function candidatesAfter(
  { candidates: known }: Past,
  { candidates = [] }: ObjectReport,
  nowMs: number,
): Past["candidates"] {
  if (candidates.length === 0) return undefined;
  return new Map(candidates.map((id) => [id, known?.get(id) ?? nowMs]));
}

function afterLookOf(
  entry: Entry,
  sent: Look,
  { startedMs }: InFlight,
  { outcome, afterSeconds }: ObjectReport,
  settling: Settling,
): Entry {
  const hasFailed = outcome === "retry";
  const { nowMs, draw, rules } = settling;
  const past = afterLook(entry.past, startedMs, hasFailed, rules);
  if (!hasFailed || entry.phase.next !== undefined) return { ...entry, past };
  const { dueMs } = endOfRetry(afterSeconds, entry.past.failedLooks + 1, { fromMs: nowMs, draw });
  const next = lookAgain(sent, entry.past, { dueMs, wait: "retry" }, rules);
  return { ...entry, past, phase: followedBy(entry.phase, next) };
}

/** What lasts is looked at again so soon after something was done about it; the next report says when after that. */
const MONITORED_AGAIN_SECONDS = 5;

function afterChange(entry: Entry, sent: Work, { nowMs, draw, rules }: Settling): Entry {
  const { next } = entry.phase;
  const changed = changedByUs(entry, sent.snapshot, nowMs, rules);
  // What the watch has shown since then may already say that it is undone; otherwise the work counts as done.
  const isShown = entry.phase.kind !== "unconfirmed";
  if (!isShown || next?.queue !== "work") return changed;
  if (rules.monitors !== true) return undone(changed, next, nowMs);
  const departure = endOfRetry(MONITORED_AGAIN_SECONDS, 1, { fromMs: nowMs, draw });
  const tried = { fingerprint: next.fingerprint, demand: next.demand, atMs: nowMs };
  return { ...changed, phase: followedBy(changed.phase, { ...next, ...departure, wait: "retry", tried }) };
}

function stillNeeding(
  entry: Entry,
  next: Work,
  sent: Work,
  { startedMs, isWoken }: InFlight,
  { outcome, afterSeconds, seen, resourceVersion }: ObjectReport,
  { nowMs, draw }: Settling,
): Entry {
  const isRetry = outcome === "retry";
  // What the watch has shown last is what this very invocation wrote.
  const isOwnVersion = resourceVersion !== undefined && resourceVersion === entry.version;
  const failures = entry.past.failures + 1;
  const past = { ...entry.past, failures };
  const from = { fromMs: nowMs, draw };
  const departure = isRetry
    ? endOfRetry(afterSeconds, failures, from)
    : endOfWait("disagreed", failures, from);
  const work: Work = {
    ...next,
    ...departure,
    ...(isWoken ? { dueMs: nowMs } : {}),
    wait: isRetry ? "retry" : "disagreed",
    tried: {
      fingerprint: seen ?? sent.fingerprint,
      demand: isOwnVersion ? next.demand : sent.demand,
      atMs: startedMs,
    },
    // A change without a version was made elsewhere: the watch is yet to call the object done.
    mayBeDone: outcome === "changed" || (sent.mayBeDone && !isRetry),
  };
  const hasChanged =
    next.fingerprint !== sent.fingerprint ||
    next.demand !== work.tried?.demand ||
    isNewDeletion(past, next.snapshot);
  return { ...entry, past, phase: followedBy(entry.phase, hasChanged ? hurried(work, past, nowMs) : work) };
}
