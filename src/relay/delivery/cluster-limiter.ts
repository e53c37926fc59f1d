import { ABANDONED } from "#platforms/invoker.ts";
import type { InvocationEnd } from "#relay/delivery/invocation-limiter.ts";

/** One cluster's invocations in flight, its recent use of permits, and whether its invocations succeed. */
export interface ClusterLimiter {
  inFlight(): number;
  /**
   * Returns the permit time that the cluster used, in milliseconds. It halves every 30 seconds and includes
   * what is in flight.
   */
  getUsedMs(nowMs: number): number;
  /** Returns whether the cluster has one permit at a time because its invocations are slow or fail. */
  isSlowed(nowMs: number): boolean;
  begin(nowMs: number): ClusterPermit;
  /** Returns whether the cluster's history is too old to matter. */
  isForgotten(nowMs: number): boolean;
}

/** A cluster's permit for one invocation. Exactly one of its two methods is called once and frees it. */
export interface ClusterPermit {
  /** Gives the permit back because nothing was sent. */
  cancel(): void;
  recordEnd(end: InvocationEnd, nowMs: number): void;
}

/** How fast a cluster's use is forgotten. */
const HALF_LIFE_MS = 30_000;

/**
 * A permit in flight counts this long in addition to its age, so that a cluster that has one comes after those without.
 * After its end it counts as long as it lasted, and at least this long.
 */
const MIN_COUNTED_MS = 1_000;

/** The use is reduced at most once in this time, because it is read for every waiter. */
const AGE_EVERY_MS = 1_000;

/** An invocation that takes longer is slow: a batch of a hundred nodes usually takes about 500 ms. */
const SLOW_MS = 5_000;

/**
 * After a slow or failed invocation, a cluster has one permit at a time, at most for this long. N quick and successful
 * invocations end that sooner. N is one at first.
 */
const FORGIVEN_AFTER_MS = 60_000;

/** If a cluster is slow or fails again within this time, twice as many invocations must be quick and successful. */
const REPEATED_MS = 600_000;

/** The most quick and successful invocations that a slowed cluster needs. */
const MAX_OWED = 32;

/** Creates the limiter of a cluster without history. */
export function createClusterLimiter(): ClusterLimiter {
  /** In the order of their start. */
  const running = new Set<{ readonly beganMs: number }>();
  let beganSumMs = 0;
  let endedUseMs = 0;
  let agedMs = Number.NEGATIVE_INFINITY;
  /** Invocations that must be quick and successful before the cluster has more than one permit again. */
  let owed = 0;
  /** The number of quick and successful invocations that the last slow or failed one required. */
  let penalty = 0;
  let failedMs = Number.NEGATIVE_INFINITY;

  function age(nowMs: number): void {
    if (nowMs - agedMs < AGE_EVERY_MS) return;
    endedUseMs *= 0.5 ** ((nowMs - agedMs) / HALF_LIFE_MS);
    agedMs = nowMs;
  }

  function fail(beganMs: number, nowMs: number): void {
    // Invocations in flight at the same time fail for one reason: they renew the penalty, and do not double it.
    const isAnother = beganMs >= failedMs;
    if (nowMs - failedMs > REPEATED_MS) penalty = 1;
    else if (isAnother) penalty = Math.min(MAX_OWED, penalty * 2);
    owed = penalty;
    failedMs = nowMs;
  }

  return {
    inFlight: () => running.size,
    getUsedMs(nowMs) {
      age(nowMs);
      return endedUseMs + running.size * (MIN_COUNTED_MS + nowMs) - beganSumMs;
    },
    isSlowed(nowMs) {
      if (owed > 0 && nowMs - failedMs < FORGIVEN_AFTER_MS) return true;
      if (running.size === 0) return false;
      const [oldest] = running;
      return oldest !== undefined && nowMs - oldest.beganMs > SLOW_MS;
    },
    begin(beganMs) {
      const permit = { beganMs };
      running.add(permit);
      beganSumMs += beganMs;
      const release = (): void => {
        running.delete(permit);
        beganSumMs -= beganMs;
      };
      return {
        cancel: release,
        recordEnd({ code, refused, durationMs }, nowMs) {
          release();
          if (refused) return;
          age(nowMs);
          endedUseMs += Math.max(MIN_COUNTED_MS, durationMs);
          // A slow invocation that was abandoned is slow: otherwise a tenant could delete its objects to hide that.
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
