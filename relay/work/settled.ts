import { woken } from "#relay/work/asked.ts";
import { type Entry, free } from "#relay/work/entry.ts";
import type { Settlement } from "#relay/work/pending.ts";
import { reported, UNCONFIRMED_LIMIT_MS } from "#relay/work/reported.ts";
import { type FlyingEntry, failed, refused, type Settling } from "#relay/work/sent.ts";

/** From this failure in a row on, the two halves of a flight come back apart: one object may be what brings it down. */
const HALVED_FROM = 4;

/** The entry after the end of its flight. */
export function settleEntry(entry: FlyingEntry, settlement: Settlement, settling: Settling): Entry {
  const after = afterFlight(entry, settlement, settling);
  if (entry.kept === undefined) return after;
  // What was sent is of before the change; or it came to nothing, and by now there is no work that would be sent again.
  const isUntold = entry.phase.isWoken || (isInVain(settlement) && after.phase.next === undefined);
  return isUntold ? woken(after, settling.nowMs) : after;
}

function isInVain(settlement: Settlement): boolean {
  return settlement.kind !== "report" || settlement.report.outcome === "retry";
}

function afterFlight(entry: FlyingEntry, settlement: Settlement, settling: Settling): Entry {
  switch (settlement.kind) {
    case "report":
      return reported(entry, settlement.report, settling);
    case "failed":
      return failed(entry, settlement.settleMs, settling);
    case "refused":
      return refused(entry);
  }
}

/** Whether the object and its neighbours have failed so often that they had better be apart. */
export function isHalved({ past }: Entry): boolean {
  return past.failures >= HALVED_FROM - 1;
}

/** The entry after its time is up: nobody writes to it any more, or it is read, and read again. */
export function overdue(entry: Entry, nowMs: number): Entry {
  const { phase } = entry;
  switch (phase.kind) {
    case "lost":
      return { ...entry, phase: free(phase.next) };
    case "unconfirmed":
      return { ...entry, phase: { ...phase, untilMs: nowMs + UNCONFIRMED_LIMIT_MS } };
    case "idle":
    case "due":
    case "in-flight":
      return entry;
  }
}
