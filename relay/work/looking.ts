import type { ApiObject, Looks } from "#core/controller.ts";
import type { Look, Past, Task } from "#relay/work/entry.ts";

/** Drift of one object is looked at once in this time. */
const DRIFT_EVERY_MS = 60_000;

/** Looks that fail in a row are given up; the next refresh brings another. */
const MAX_LOOKS = 3;

/** What holds for all objects of one controller and cluster. */
export interface Rules {
  /** When the controller looks at objects that need no work; undefined where it never does. */
  readonly looks: Pick<Looks, "againSeconds"> | undefined;
  /** What is done on an object need not end its need of work: that is a state which lasts. */
  readonly monitors?: boolean;
  /** Uniform in [0, 1). */
  readonly random: () => number;
}

/** The second look after a change of ours. */
export function secondLook({ looks, random }: Rules, snapshot: ApiObject, nowMs: number): Look | undefined {
  if (looks?.againSeconds === undefined) return undefined;
  const [from, to] = looks.againSeconds;
  return {
    queue: "look",
    snapshot,
    dueMs: nowMs + 1_000 * (from + random() * (to - from)),
    isForDrift: false,
  };
}

/** Whether a fingerprint is neither what it was before nor what we wrote. */
export function isDrift(
  fingerprint: string | undefined,
  before: string | undefined,
  { written }: Past,
): boolean {
  const known = before ?? written;
  return known !== undefined && fingerprint !== undefined && known !== fingerprint && fingerprint !== written;
}

/** The look that drift brings: at once, but not too soon after the last one; one that comes sooner anyway is enough. */
export function driftLook(
  next: Look | undefined,
  snapshot: ApiObject,
  lookedMs: number,
  nowMs: number,
): Look {
  const dueMs = Math.max(nowMs, lookedMs + DRIFT_EVERY_MS);
  if (next === undefined) return { queue: "look", snapshot, dueMs, isForDrift: true };
  return { ...next, snapshot, dueMs: Math.min(next.dueMs, dueMs) };
}

/** What is next without a look at drift that has turned out to be our own write, seen before its report. */
export function withoutOwnDrift(
  next: Task | undefined,
  fingerprint: string | undefined,
  { written }: Past,
): Task | undefined {
  return next?.queue === "look" && next.isForDrift && fingerprint === written ? undefined : next;
}

/** The look after one that failed, unless that was the last of them. */
export function lookAgain(failed: Look, { failedLooks }: Past, dueMs: number): Look | undefined {
  return failedLooks + 1 < MAX_LOOKS ? { ...failed, dueMs, isForDrift: false } : undefined;
}

/** The past after a look, which failed or did not. */
export function afterLook(past: Past, lookedMs: number, hasFailed: boolean): Past {
  const failedLooks = hasFailed && past.failedLooks + 1 < MAX_LOOKS ? past.failedLooks + 1 : 0;
  return { ...past, lookedMs, failedLooks };
}
