import type { ApiObject, WaitingGauge } from "#core/watch.ts";
import type { Settlement } from "#relay/work/types.ts";

/** How long objects wait, as a label value. */
export type WaitingAge = "lt1m" | "lt10m" | "ge10m";

/** Waiting objects with the same reason and age. */
export interface WaitingCount {
  /** The code of the last report; `Waiting` before the first report, or if it left nothing to do. */
  readonly reason: string;
  readonly age: WaitingAge;
  readonly count: number;
  /** The object that has waited longest; `sinceMs` is a timestamp in milliseconds since the epoch. */
  readonly oldest: { readonly name: string; readonly sinceMs: number };
}

/** The objects of a controller that wait in a cluster, and why. The API server's list bounds their number. */
export interface WaitingObjects {
  /** Takes an object as it was shown; `isKnown` if the relay saw it before. */
  shown(
    object: { readonly snapshot: ApiObject; readonly isKnown: boolean },
    nowMs: number,
    wallTime: Date,
  ): void;
  /** Takes the settlement of an invocation for an object; `code` is the code of a failed invocation. */
  settled(uid: string, settlement: Settlement, code: string | undefined): void;
  forget(uid: string): void;
  /** Counts waiting objects. Ages use `nowMs`, which is monotonic; times shown to people use `wallTime`. */
  counts(nowMs: number, wallTime: Date): readonly WaitingCount[];
}

/** Creates the counts; without a rule no object ever waits. */
export function createWaiting(rule: Pick<WaitingGauge, "isWaiting" | "since"> | undefined): WaitingObjects {
  const waiting = new Map<string, WaitingObject>();
  return {
    shown({ snapshot, isKnown }, nowMs, wallTime) {
      if (rule === undefined) return;
      const { uid, name, namespace, creationTimestamp } = snapshot.metadata;
      if (!rule.isWaiting(snapshot)) return void waiting.delete(uid);
      if (waiting.has(uid)) return;
      const ageMs = wallTime.getTime() - Date.parse(rule.since?.(snapshot) ?? creationTimestamp);
      // An object that was done before and waits again has not waited since its creation.
      const sinceMs = isKnown || !(ageMs > 0) ? nowMs : nowMs - ageMs;
      const fullName = namespace === undefined ? name : `${namespace}/${name}`;
      waiting.set(uid, { name: fullName, sinceMs, reason: NOT_REPORTED });
    },
    settled(uid, settlement, code) {
      const before = waiting.get(uid);
      if (before !== undefined)
        waiting.set(uid, { ...before, reason: getWaitingCode(settlement, code) ?? before.reason });
    },
    forget: (uid) => void waiting.delete(uid),
    counts(nowMs, wallTime) {
      const epochMs = wallTime.getTime() - nowMs;
      const counts = new Map<string, WaitingCount>();
      for (const { name, sinceMs: monotonicMs, reason } of waiting.values()) {
        const age = getWaitingAge(nowMs - monotonicMs);
        const sinceMs = epochMs + monotonicMs;
        const key = `${age} ${reason}`;
        const { count, oldest } = counts.get(key) ?? { count: 0, oldest: { name, sinceMs } };
        const isOlder = sinceMs < oldest.sinceMs;
        counts.set(key, { reason, age, count: count + 1, oldest: isOlder ? { name, sinceMs } : oldest });
      }
      return [...counts.values()];
    },
  };
}

interface WaitingObject {
  readonly name: string;
  /** A monotonic time. */
  readonly sinceMs: number;
  readonly reason: string;
}

const NOT_REPORTED = "Waiting";

/** Returns the code, or undefined if there is nothing new. */
function getWaitingCode(settlement: Settlement, code: string | undefined): string | undefined {
  switch (settlement.kind) {
    case "report": {
      const { outcome, because } = settlement.report;
      return outcome === "retry" || outcome === "skipped" ? because.code : NOT_REPORTED;
    }
    case "failed":
      return code ?? "NotNamed";
    case "refused":
      return code;
  }
}

function getWaitingAge(ms: number): WaitingAge {
  if (ms < 60_000) return "lt1m";
  return ms < 600_000 ? "lt10m" : "ge10m";
}
