import type { ApiObject, Watch, WatchContext } from "#core/controller.ts";
import { followsRelated } from "#delivery/follows-related.ts";
import { periodOf } from "#delivery/period-of.ts";
import { isRefreshTurn } from "#sweep/turns.ts";

/** How a cluster is swept: not at all, for what a relay should have brought by now, or for everything. */
export type SweepMode = "lease" | "audit" | "full";

/** What an object is judged by. */
export interface SelectContext extends WatchContext {
  readonly mode: Exclude<SweepMode, "lease">;
  readonly nowMs: number;
  readonly minute: number;
}

/** An object that is to be sent. */
export interface SweptObject {
  readonly uid: string;
  readonly snapshot: ApiObject;
  /** Work comes before looks at objects that need none. */
  readonly isWork: boolean;
  /** A relay in good health would have brought it up by now. */
  readonly isOverdue: boolean;
}

/**
 * A relay in good health has a node up within a second or two of its creation, and a burst of thousands within half a minute. What
 * takes longer was not delivered, or could not be done.
 */
export const OVERDUE_AFTER_MS = 60_000;

/** Whether an object is sent, and as what; undefined where it is not. */
export function select(watch: Watch, object: ApiObject, context: SelectContext): SweptObject | undefined {
  const { mode, nowMs, minute } = context;
  const isWork = watch.needsWork(object, context);
  const { uid, creationTimestamp } = object.metadata;
  const isOld = nowMs - Date.parse(creationTimestamp) > OVERDUE_AFTER_MS;
  // Of states that last nobody can say by an object's age when they began, and the relay goes back to them by itself.
  const isLate = isWork && isOld && watch.scope === "object";
  const isDue = mode === "full" ? isWork || isLookedAt() : isLate;
  if (!isDue) return undefined;
  const isOverdue =
    isWork && isOld && (watch.delays ?? []).some((delay) => delay.waits(object, context.settings));
  return { uid, snapshot: watch.snapshot(object, context), isWork, isOverdue };

  function isLookedAt(): boolean {
    // Nobody tells of changes of what it reads.
    if (followsRelated(watch, object)) return true;
    return watch.looks !== undefined && isRefreshTurn(uid, minute, periodOf(watch.looks, context.settings));
  }
}
