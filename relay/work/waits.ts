import { backOffMs } from "#relay/work/back-off.ts";

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

/** From when on an object may go along with others that wait, and when it goes at the latest; in milliseconds. */
export interface Departure {
  readonly earliestMs: number;
  readonly dueMs: number;
}

/** One kind of wait; durations in milliseconds. */
interface Wait {
  /** The `times`-th in a row; `draw` is uniform in [0, 1). */
  readonly durations: (times: number, draw: number) => Span;
  /** Whether it ends at once where a related object changes: then the answer may be another one now. */
  readonly endsWithRelated: boolean;
}

interface Span {
  readonly atLeastMs: number;
  readonly atMostMs: number;
}

/** Waits that double end here. */
const LONGEST_MS = 5 * 60_000;

/** A report that asks for another try says when, between these two: an answer of 0 must not become a storm. */
const ASKED_FROM_MS = 250;
const ASKED_TO_MS = 10 * 60_000;

/** What waits for so long goes up to so much of it later, in order to go with others … */
const LATER_BY = 1 / 8;
/** … and up to so much more, so that clusters which fail together do not march in step. */
const APART_BY = 1 / 32;

const WAITS: Readonly<Record<WaitReason, Wait>> = {
  retry: { durations: jittered, endsWithRelated: true },
  failed: { durations: jittered, endsWithRelated: false },
  disagreed: {
    durations: (times, draw) => stretched(doubledMs(5_000, times), draw),
    endsWithRelated: true,
  },
  undone: { durations: (times) => exactly(doubledMs(1_000, times)), endsWithRelated: false },
  "too-large": { durations: () => exactly(LONGEST_MS), endsWithRelated: false },
};

/** A wait that begins. */
export interface Beginning {
  readonly fromMs: number;
  /** Uniform in [0, 1): the same for all that are to stay together, another one for another cluster. */
  readonly draw: number;
}

/** When a wait ends, which is the `times`-th in a row. */
export function endOfWait(reason: WaitReason, times: number, { fromMs, draw }: Beginning): Departure {
  const { atLeastMs, atMostMs } = WAITS[reason].durations(times, draw);
  return { earliestMs: fromMs + atLeastMs, dueMs: fromMs + atMostMs };
}

/** When a wait ends for which a report asks, as far as it says how long; the `times`-th in a row. */
export function endOfRetry(
  askedSeconds: number | undefined,
  times: number,
  { fromMs, draw }: Beginning,
): Departure {
  if (askedSeconds === undefined) return endOfWait("retry", times, { fromMs, draw });
  const askedMs = Math.min(ASKED_TO_MS, Math.max(ASKED_FROM_MS, askedSeconds * 1_000));
  const { atLeastMs, atMostMs } = stretched(askedMs, draw);
  return { earliestMs: fromMs + atLeastMs, dueMs: fromMs + atMostMs };
}

/** Whether a wait is over where a related object changes; what was never tried does not wait. */
export function endsWithRelated(reason: WaitReason | undefined): boolean {
  return reason === undefined || WAITS[reason].endsWithRelated;
}

function jittered(times: number, draw: number): Span {
  const atMostMs = backOffMs(times, () => draw);
  return { atLeastMs: atMostMs / 2, atMostMs };
}

function stretched(lastsMs: number, draw: number): Span {
  return { atLeastMs: lastsMs, atMostMs: lastsMs * (1 + LATER_BY + APART_BY * draw) };
}

function exactly(lastsMs: number): Span {
  return { atLeastMs: lastsMs, atMostMs: lastsMs };
}

function doubledMs(baseMs: number, times: number): number {
  return Math.min(LONGEST_MS, baseMs * 2 ** Math.min(times - 1, 20));
}
