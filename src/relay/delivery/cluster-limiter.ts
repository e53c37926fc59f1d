import { ABANDONED } from "#platforms/invoker.ts";
import type { InvocationEnd } from "#relay/delivery/invocation-limiter.ts";

/** One cluster's invocations in flight, its recent use of permits, and whether its invocations succeed. */
export interface ClusterLimiter {
  inFlight(): number;
  /**
   * Returns the permit time that the cluster used, in milliseconds. It halves every 30 seconds and includes
   * what is in flight.
   */
  usedMs(nowMs: number): number;
  /** Returns whether the cluster has one permit at a time because its invocations are slow or fail. */
  isSlowed(nowMs: number): boolean;
  begin(nowMs: number): ClusterPermit;
  /** Returns whether nothing is remembered of the cluster. */
  isForgotten(nowMs: number): boolean;
}

/** A cluster's permit for one invocation. Exactly one of its two methods is called once and frees it. */
export interface ClusterPermit {
  leave(): void;
  ended(end: InvocationEnd, nowMs: number): void;
}

/** How fast a cluster's use is forgotten. */
const HALF_LIFE_MS = 30_000;

/** A permit counts for at least this long, so that a cluster that has one comes after those without. */
const LEAST_MS = 1_000;

/** An invocation that takes longer is slow: a batch of a hundred takes a tenth of it. */
const SLOW_MS = 5_000;

/**
 * After a slow or failed invocation, a cluster has one permit at a time for this long, or until enough invocations
 * are quick and successful: one at first.
 */
const FORGIVEN_AFTER_MS = 60_000;

/** If a cluster is slow again within this time, twice as many invocations must be quick and successful. */
const REPEATED_MS = 600_000;

/** The maximum of quick and successful invocations that a slow cluster needs. */
const MAX_OWED = 32;

/** Creates the limiter of a cluster without history. */
export function createClusterLimiter(): ClusterLimiter {
  /** In the order of their start. */
  const running = new Set<{ readonly beganMs: number }>();
  let beganSumMs = 0;
  let usedMs = 0;
  let agedMs = Number.NEGATIVE_INFINITY;
  /** Invocations that must be quick and successful before the cluster has more than one permit again. */
  let owed = 0;
  /** The number of good invocations that the last failure required. */
  let penalty = 0;
  let failedMs = Number.NEGATIVE_INFINITY;

  function age(nowMs: number): void {
    if (nowMs - agedMs < 1_000) return;
    usedMs *= 0.5 ** ((nowMs - agedMs) / HALF_LIFE_MS);
    agedMs = nowMs;
  }

  function fail(beganMs: number, nowMs: number): void {
    // Invocations in flight at the same time fail for one reason and count once.
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
