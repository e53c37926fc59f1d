import type { ApiObject, Looks } from "#core/controller.ts";
import type { Look, Past, Task } from "#relay/work/entry.ts";
import { endsWithRelated } from "#relay/work/waits.ts";

/** Drift of one object is looked at once in this time. */
const DRIFT_EVERY_MS = 60_000;

/** Looks that fail in a row are given up, as the next refresh brings another; but not where changes reach the function by looks alone. */
const MAX_LOOKS = 3;

/** What holds for all objects of one controller and cluster. */
export interface Rules {
  /** When the controller looks at objects that need no work; undefined where it never does. */
  readonly looks: Pick<Looks, "againSeconds" | "whenRelatedChange"> | undefined;
  /** What is done on an object need not end its need of work: that is a state which lasts. */
  readonly monitors?: boolean;
  /** Uniform in [0, 1). */
  readonly random: () => number;
}

/** The second look after a change of ours. */
export function secondLook({ looks, random }: Rules, snapshot: ApiObject, nowMs: number): Look | undefined {
  if (looks?.againSeconds === undefined) return undefined;
  const [from, to] = looks.againSeconds;
  return lookAt(snapshot, nowMs + 1_000 * (from + random() * (to - from)));
}

/** A look at all that there is to be looked at. */
export function lookAt(snapshot: ApiObject, dueMs: number): Look {
  return { queue: "look", snapshot, dueMs, isForDrift: false, reason: "refresh", wait: undefined };
}

/** The look that a change of related objects brings: at once, but for one that would only fail once more. */
export function relatedLook(next: Look | undefined, snapshot: ApiObject, nowMs: number): Look {
  if (next === undefined) return { ...lookAt(snapshot, nowMs), reason: "watch" };
  const dueMs = endsWithRelated(next.wait) ? Math.min(next.dueMs, nowMs) : next.dueMs;
  return { ...next, dueMs, isForDrift: false };
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
  if (next === undefined) return { ...lookAt(snapshot, dueMs), isForDrift: true };
  return { ...next, snapshot, dueMs: Math.min(next.dueMs, dueMs), reason: "refresh" };
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
export function lookAgain(
  failed: Look,
  { failedLooks }: Past,
  { dueMs, wait }: Pick<Look, "dueMs" | "wait">,
  rules: Rules,
): Look | undefined {
  return isGivenUp(failedLooks + 1, rules) ? undefined : { ...failed, dueMs, wait, isForDrift: false };
}

/** The past after a look, which failed or did not. */
export function afterLook(past: Past, lookedMs: number, hasFailed: boolean, rules: Rules): Past {
  const failedLooks = hasFailed && !isGivenUp(past.failedLooks + 1, rules) ? past.failedLooks + 1 : 0;
  return { ...past, lookedMs, failedLooks };
}

function isGivenUp(failedLooks: number, { looks }: Rules): boolean {
  return failedLooks >= MAX_LOOKS && looks?.whenRelatedChange !== true;
}
