import { ABANDONED } from "#delivery/invoker.ts";
import type { InvocationEnd } from "#relay/delivery/gate.ts";

/** What one cluster has in flight, what it has taken lately, and whether its invocations go well. */
export interface ClusterTurns {
  inFlight(): number;
  /** Milliseconds of slots that it has taken: forgotten by half in half a minute, and what is in flight counts. */
  usedMs(nowMs: number): number;
  /** Whether it has one slot at a time only, as its invocations are slow or fail. */
  isSlowed(nowMs: number): boolean;
  begin(nowMs: number): ClusterTurn;
  /** Whether there is nothing to remember of it. */
  isForgotten(nowMs: number): boolean;
}

/** One slot of a cluster; it is free again after one of the two, which is called once. */
export interface ClusterTurn {
  leave(): void;
  ended(end: InvocationEnd, nowMs: number): void;
}

/** How fast it is forgotten what a cluster has taken. */
const HALF_LIFE_MS = 30_000;

/** A slot counts as this long at least, so that whoever has begun one is behind those that have not. */
const LEAST_MS = 1_000;

/** An invocation that takes longer is slow: a batch of a hundred takes a tenth of it. */
const SLOW_MS = 5_000;

/** After the last that was slow or failed, a cluster has one slot at a time for so long, … */
const FORGIVEN_AFTER_MS = 60_000;

/** … or until one was quick and good; if it happens again within this time, until twice as many were, … */
const REPEATED_MS = 600_000;

/** … up to so many. */
const MAX_OWED = 32;

/** A cluster of which nothing is known yet. */
export function createClusterTurns(): ClusterTurns {
  /** In the order in which they began. */
  const running = new Set<{ readonly beganMs: number }>();
  let beganSumMs = 0;
  let usedMs = 0;
  let agedMs = Number.NEGATIVE_INFINITY;
  /** Invocations that have to be quick and good before it has more slots than one again. */
  let owed = 0;
  /** What it owes when it fails, the last time that it did. */
  let penalty = 0;
  let failedMs = Number.NEGATIVE_INFINITY;

  function age(nowMs: number): void {
    if (nowMs - agedMs < 1_000) return;
    usedMs *= 0.5 ** ((nowMs - agedMs) / HALF_LIFE_MS);
    agedMs = nowMs;
  }

  function fail(beganMs: number, nowMs: number): void {
    // Several in flight at the same time fail for one reason.
    const isAnother = beganMs >= failedMs;
    if (nowMs - failedMs > REPEATED_MS) penalty = 1;
    else if (isAnother) penalty = Math.min(MAX_OWED, penalty * 2);
    owed = penalty;
    failedMs = nowMs;
  }

  return {
    inFlight: () => running.size,
    usedMs(nowMs) {
      age(nowMs);
      return usedMs + running.size * (LEAST_MS + nowMs) - beganSumMs;
    },
    isSlowed(nowMs) {
      if (owed > 0 && nowMs - failedMs < FORGIVEN_AFTER_MS) return true;
      if (running.size === 0) return false;
      const [oldest] = running;
      return oldest !== undefined && nowMs - oldest.beganMs > SLOW_MS;
    },
    begin(beganMs) {
      const turn = { beganMs };
      running.add(turn);
      beganSumMs += beganMs;
      const free = (): void => {
        running.delete(turn);
        beganSumMs -= beganMs;
      };
      return {
        leave: free,
        ended({ code, refused, durationMs }, nowMs) {
          free();
          if (refused) return;
          age(nowMs);
          usedMs += Math.max(LEAST_MS, durationMs);
          const isBad = code !== undefined && code !== ABANDONED;
          if (isBad || durationMs > SLOW_MS) fail(beganMs, nowMs);
          else if (code === undefined && beganMs >= failedMs) owed = Math.max(0, owed - 1);
        },
      };
    },
    isForgotten: (nowMs) =>
      running.size === 0 && nowMs - agedMs > REPEATED_MS && nowMs - failedMs > REPEATED_MS,
  };
}
