import type { ApiObject, Waiting } from "#core/controller.ts";
import type { Settlement } from "#relay/work/pending.ts";

/** How long objects wait, in the words of a label. */
export type WaitingAge = "lt1m" | "lt10m" | "ge10m";

/** Objects that wait, of which the same is known. */
export interface WaitingCount {
  /** The code of the last report; `Waiting` before there was one, or where it says that nothing is left to do. */
  readonly reason: string;
  readonly age: WaitingAge;
  readonly count: number;
  /** The one of them that has waited longest; `sinceMs` is a timestamp, in milliseconds since the epoch. */
  readonly oldest: { readonly name: string; readonly sinceMs: number };
}

/** Which objects of a controller wait in a cluster, and why; bounded by what the API server lists. */
export interface WaitingObjects {
  /** An object as it is shown; `isKnown` where it was met before. */
  shown(
    object: { readonly snapshot: ApiObject; readonly isKnown: boolean },
    nowMs: number,
    wallTime: Date,
  ): void;
  /** What a flight came to for an object; `code` is that of an invocation that failed. */
  settled(uid: string, settlement: Settlement, code: string | undefined): void;
  forget(uid: string): void;
  /** Ages go by `nowMs`, which is monotonic; what is shown to people goes by `wallTime`. */
  counts(nowMs: number, wallTime: Date): readonly WaitingCount[];
}

/** Nothing waits yet; without a rule nothing ever does. */
export function createWaiting(rule: Pick<Waiting, "waits" | "since"> | undefined): WaitingObjects {
  const waiting = new Map<string, WaitingObject>();
  return {
    shown({ snapshot, isKnown }, nowMs, wallTime) {
      if (rule === undefined) return;
      const { uid, name, namespace, creationTimestamp } = snapshot.metadata;
      if (!rule.waits(snapshot)) return void waiting.delete(uid);
      if (waiting.has(uid)) return;
      const ageMs = wallTime.getTime() - Date.parse(rule.since?.(snapshot) ?? creationTimestamp);
      // One that was done before and waits again has not waited since it was made.
      const sinceMs = isKnown || !(ageMs > 0) ? nowMs : nowMs - ageMs;
      const fullName = namespace === undefined ? name : `${namespace}/${name}`;
      waiting.set(uid, { name: fullName, sinceMs, reason: NOT_REPORTED });
    },
    settled(uid, settlement, code) {
      const before = waiting.get(uid);
      if (before !== undefined)
        waiting.set(uid, { ...before, reason: reasonOf(settlement, code) ?? before.reason });
    },
    forget: (uid) => void waiting.delete(uid),
    counts(nowMs, wallTime) {
      const epochMs = wallTime.getTime() - nowMs;
      const counts = new Map<string, WaitingCount>();
      for (const { name, sinceMs: monotonicMs, reason } of waiting.values()) {
        const age = ageOf(nowMs - monotonicMs);
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
  /** Monotonic. */
  readonly sinceMs: number;
  readonly reason: string;
}

const NOT_REPORTED = "Waiting";

/** Undefined where nothing new is known. */
function reasonOf(settlement: Settlement, code: string | undefined): string | undefined {
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

function ageOf(ms: number): WaitingAge {
  if (ms < 60_000) return "lt1m";
  return ms < 600_000 ? "lt10m" : "ge10m";
}
