import { applyReport, UNCONFIRMED_LIMIT_MS } from "#relay/work/apply-report.ts";
import { createFreePhase, type Entry } from "#relay/work/entry.ts";
import {
  applyFailure,
  applyRefusal,
  type InFlightEntry,
  type SettlementContext,
} from "#relay/work/in-flight.ts";
import { requeue } from "#relay/work/requeue.ts";
import type { Settlement } from "#relay/work/types.ts";

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
