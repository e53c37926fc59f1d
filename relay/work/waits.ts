import { backOffMs } from "#relay/work/back-off.ts";
import { endOfSlot } from "#relay/work/slots.ts";

/** Why an object that was sent has to wait before it is sent again. */
export type WaitReason =
  /** The report asks for another try. */
  | "retry"
  /** There was no report. */
  | "failed"
  /** The report calls done what the watch goes on calling needed. */
  | "disagreed"
  /** Somebody undoes our work. */
  | "undone"
  /** No event can carry it as it is. */
  | "too-large";

/** One kind of wait. */
interface Wait {
  /** Milliseconds after so many flights in a row that came to it; `draw` is uniform in [0, 1), and a flight's own. */
  readonly waitMs: (times: number, draw: number) => number;
  /** Whether it ends with others, so that what waits shares batches. */
  readonly isShared: boolean;
  /** Whether it ends at once where a related object changes: then the answer may be another one now. */
  readonly endsWithRelated: boolean;
}

const JITTERED = { waitMs: (times: number, draw: number) => backOffMs(times, () => draw), isShared: true };

const WAITS: Readonly<Record<WaitReason, Wait>> = {
  retry: { ...JITTERED, endsWithRelated: true },
  failed: { ...JITTERED, endsWithRelated: false },
  disagreed: { waitMs: doubled(5_000), isShared: true, endsWithRelated: true },
  undone: { waitMs: doubled(1_000), isShared: false, endsWithRelated: false },
  "too-large": { waitMs: () => LONGEST_MS, isShared: true, endsWithRelated: false },
};

/** Waits that double end here. */
const LONGEST_MS = 5 * 60_000;

/** A report that asks for another try says when, between these two: an answer of 0 must not become a storm. */
const ASKED_FROM_MS = 250;
const ASKED_TO_MS = 10 * 60_000;

/** What the waits of one flight have in common, or the only one of an object that is in none. */
export interface Waiting {
  /** When they begin, in milliseconds. */
  readonly fromMs: number;
  /** The cluster's place in the slots, in [0, 1). */
  readonly offset: number;
  /** Uniform in [0, 1): the same for all that are to stay together. */
  readonly draw: number;
}

/** When a wait ends, in milliseconds: the `times`-th in a row, or as long as a report asks for. */
export function endOfWait(
  reason: WaitReason,
  times: number,
  waiting: Waiting,
  askedSeconds?: number,
): number {
  const { waitMs, isShared } = WAITS[reason];
  const { fromMs, offset, draw } = waiting;
  const lastsMs =
    askedSeconds === undefined
      ? waitMs(times, draw)
      : Math.min(ASKED_TO_MS, Math.max(ASKED_FROM_MS, askedSeconds * 1_000));
  return isShared ? endOfSlot(fromMs + lastsMs, lastsMs, offset) : fromMs + lastsMs;
}

/** Whether a wait is over where a related object changes; what was never tried does not wait. */
export function endsWithRelated(reason: WaitReason | undefined): boolean {
  return reason === undefined || WAITS[reason].endsWithRelated;
}

function doubled(baseMs: number): (times: number) => number {
  return (times) => Math.min(LONGEST_MS, baseMs * 2 ** Math.min(times - 1, 20));
}
