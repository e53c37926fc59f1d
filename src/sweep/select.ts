import type { ApiObject, Watch, WatchContext } from "#core/watch.ts";
import { getRefreshPeriod } from "#delivery/batch-event.ts";
import { isRelatedFollower } from "#delivery/related-batch.ts";

/**
 * How a cluster is swept: only its Lease, what a relay should have delivered, everything, or only the objects
 * that someone reports as touched.
 */
export type SweepMode = "lease" | "audit" | "full" | "touched";

/** The context in which an object is selected. */
export interface SelectContext extends WatchContext {
  readonly mode: Exclude<SweepMode, "lease">;
  readonly nowMs: number;
  readonly minute: number;
  /** Whether an object is sent in the mode `touched`. */
  readonly isDue?: (watch: Watch, object: ApiObject, isWork: boolean) => boolean;
}

/** An object to send. */
export interface SweptObject {
  readonly uid: string;
  readonly snapshot: ApiObject;
  /** Whether it needs work; work is sent before resyncs. */
  readonly isWork: boolean;
  /** Whether a healthy relay would have delivered it already. */
  readonly isOverdue: boolean;
}

/**
 * A healthy relay initializes a node within a second or two of its creation, and a burst of thousands within
 * half a minute. A slower object was not delivered or could not be processed.
 */
export const OVERDUE_AFTER_MS = 60_000;

/** Selects whether and how an object is sent; undefined if it is not. */
export function select(watch: Watch, object: ApiObject, context: SelectContext): SweptObject | undefined {
  const { mode, nowMs, minute } = context;
  const isWork = watch.needsWork(object, context);
  const { uid, creationTimestamp } = object.metadata;
  const isOld = nowMs - Date.parse(creationTimestamp) > OVERDUE_AFTER_MS;
  // An object's age does not show when a lasting state began, and the relay repeats such objects itself.
  const isLate = isWork && isOld && watch.scope === "object";
  const isDue = {
    audit: () => isLate,
    full: () => isWork || isLookedAt(),
    touched: () => context.isDue?.(watch, object, isWork) === true,
  };
  if (!isDue[mode]()) return undefined;
  const isOverdue =
    mode !== "touched" &&
    isWork &&
    isOld &&
    (watch.metrics?.delays ?? []).some((delay) => delay.isWaiting(object, context.settings));
  return { uid, snapshot: watch.snapshot(object, context), isWork, isOverdue };

  function isLookedAt(): boolean {
    // No watch event reports changes of its related objects.
    if (isRelatedFollower(watch, object)) return true;
    return (
      watch.rechecks?.resync !== undefined &&
      isRefreshTurn(uid, minute, getRefreshPeriod(watch.rechecks.resync, context.settings))
    );
  }
}

/** Minutes between two audits of a cluster with a fresh Lease. */
const AUDIT_EVERY_MINUTES = 10;

/** Minutes in which every regularly checked object has one turn. */
const REFRESH_EVERY_MINUTES = 5;

/** Returns the minute of a time, which decides the turns; it is equal for all concurrent sweeps. */
export function toMinute(atMs: number): number {
  return Math.floor(atMs / 60_000);
}

/**
 * Whether a cluster with a fresh Lease is listed in this minute: each cluster once in ten minutes, a tenth of
 * them each minute.
 */
export function isAuditTurn(cluster: string, minute: number): boolean {
  return hashName(cluster) % AUDIT_EVERY_MINUTES === minute % AUDIT_EVERY_MINUTES;
}

/**
 * Whether an object without work is checked in this minute: each once in its period, with an equal part each
 * minute. The controller's period (`ResyncPolicy.everySeconds`) applies, else five minutes.
 */
export function isRefreshTurn(uid: string, minute: number, everySeconds?: number): boolean {
  const everyMinutes =
    everySeconds === undefined ? REFRESH_EVERY_MINUTES : Math.max(1, Math.round(everySeconds / 60));
  return hashName(uid) % everyMinutes === minute % everyMinutes;
}

/**
 * A 32-bit FNV-1a hash, mixed once more, because names that differ only in the last digit would otherwise
 * have consecutive turns.
 */
function hashName(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1)
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  return (hash ^ (hash >>> 13)) >>> 0;
}
