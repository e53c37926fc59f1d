import { getBackOffMs } from "#core/back-off.ts";
/** Why an object that was sent must wait before it is sent again. */
export type WaitReason =
  /** The report asks for a retry. */
  | "retry"
  /** There was no report. */
  | "failed"
  /** The report says done, but the watch still shows that work is needed. */
  | "disagreed"
  /** Another writer undoes our work. */
  | "undone"
  /** No event can carry the object. */
  | "too-large";

/**
 * From when an object may go along with others that wait, and when it goes at the latest; in milliseconds.
 */
export interface Departure {
  readonly earliestMs: number;
  readonly dueMs: number;
}

/** One kind of wait; durations in milliseconds. */
interface Wait {
  /** Returns the duration of the `times`-th wait in a row; `draw` is uniform in [0, 1). */
  readonly durations: (times: number, draw: number) => Span;
  /** Whether a change of a related object ends the wait at once, because the answer may differ now. */
  readonly endsWithRelated: boolean;
}

interface Span {
  readonly atLeastMs: number;
  readonly atMostMs: number;
}

/** The limit of waits that double. */
const LONGEST_MS = 5 * 60_000;

/** The shortest wait that a report can ask for: an answer of 0 must not become a storm. */
const ASKED_FROM_MS = 250;

const ASKED_TO_MS = 10 * 60_000;

/** A wait may last longer by this part, so that objects go together. */
const LATER_BY = 1 / 8;

/** A wait may last longer by up to this part more, so that clusters that fail together spread out. */
const APART_BY = 1 / 32;

const BACK_OFF = { baseMs: 250, limitMs: 30_000 };

const WAITS: Readonly<Record<WaitReason, Wait>> = {
  retry: { durations: createJitteredSpan, endsWithRelated: true },
  failed: { durations: createJitteredSpan, endsWithRelated: false },
  disagreed: {
    durations: (times, draw) => createStretchedSpan(getDoubledMs(5_000, times), draw),
    endsWithRelated: true,
  },
  undone: { durations: (times) => createExactSpan(getDoubledMs(1_000, times)), endsWithRelated: false },
  "too-large": { durations: () => createExactSpan(LONGEST_MS), endsWithRelated: false },
};

/** The start of a wait. */
export interface WaitStart {
  readonly fromMs: number;
  /** Uniform in [0, 1): equal for objects that stay together, different for another cluster. */
  readonly draw: number;
}

/** Returns when a wait ends that is the `times`-th in a row. */
export function getWaitEnd(reason: WaitReason, times: number, { fromMs, draw }: WaitStart): Departure {
  const { atLeastMs, atMostMs } = WAITS[reason].durations(times, draw);
  return { earliestMs: fromMs + atLeastMs, dueMs: fromMs + atMostMs };
}

/**
 * Returns when a wait ends that a report asks for, with or without a duration; it is the `times`-th in a row.
 */
export function getRetryEnd(
  askedSeconds: number | undefined,
  times: number,
  { fromMs, draw }: WaitStart,
): Departure {
  if (askedSeconds === undefined) return getWaitEnd("retry", times, { fromMs, draw });
  const askedMs = Math.min(ASKED_TO_MS, Math.max(ASKED_FROM_MS, askedSeconds * 1_000));
  const { atLeastMs, atMostMs } = createStretchedSpan(askedMs, draw);
  return { earliestMs: fromMs + atLeastMs, dueMs: fromMs + atMostMs };
}

/** Returns whether a change of a related object ends a wait. Work that was never tried does not wait. */
export function isEndedByRelated(reason: WaitReason | undefined): boolean {
  return reason === undefined || WAITS[reason].endsWithRelated;
}

/** With full jitter; the wait doubles with every failure in a row. */
function createJitteredSpan(times: number, draw: number): Span {
  const longestMs = getBackOffMs(BACK_OFF, times);
  const atMostMs = BACK_OFF.baseMs + draw * (longestMs - BACK_OFF.baseMs);
  return { atLeastMs: atMostMs / 2, atMostMs };
}

function createStretchedSpan(lastsMs: number, draw: number): Span {
  return { atLeastMs: lastsMs, atMostMs: lastsMs * (1 + LATER_BY + APART_BY * draw) };
}

function createExactSpan(lastsMs: number): Span {
  return { atLeastMs: lastsMs, atMostMs: lastsMs };
}

function getDoubledMs(baseMs: number, times: number): number {
  return getBackOffMs({ baseMs, limitMs: LONGEST_MS }, times - 1);
}
