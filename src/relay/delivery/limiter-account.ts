import { type ClusterLimiter, createClusterLimiter } from "#relay/delivery/cluster-limiter.ts";
import type { CloudUsage } from "#relay/delivery/invocation-limiter.ts";

/** A cloud account in the invocation limiter: its quotas, and the clusters that spend them. */
export interface LimiterAccount {
  readonly quota: Quota;
  readonly clusters: ReadonlyMap<string, ClusterLimiter>;
  /** Returns the limiter of a cluster; a new one for an unknown cluster. */
  cluster(name: string, nowMs: number): ClusterLimiter;
  /**
   * Estimates how many clusters use the account: those of this process in the last hour, scaled by this
   * process's part of the quotas.
   */
  countSharing(): number;
  /** Returns whether a cluster with an invocation in flight may have one more. */
  hasRoom(floorShare: number): boolean;
  /** Adds an invocation that is not its cluster's first; -1 removes it. */
  countBeyond(by: 1 | -1): void;
  /** Drops clusters without anything to remember. Returns whether the account is empty. */
  forget(nowMs: number, kept: ReadonlySet<ClusterLimiter>): boolean;
}

/**
 * A cluster sends something at least once in this time, because the addresses of its nodes are compared more
 * often.
 */
const SHARING_MS = 3_600_000;

/**
 * Creates an account that has spent nothing; `part` returns this process's part of its quotas, from 0 to 1.
 */
export function createLimiterAccount(nowMs: number, part: () => number): LimiterAccount {
  const quota = createQuota(nowMs, part);
  const clusters = new Map<string, ClusterLimiter>();
  /** When each cluster last sent something. */
  const cameMs = new Map<string, number>();
  let beyond = 0;
  return {
    quota,
    clusters,
    cluster(name, atMs) {
      cameMs.set(name, atMs);
      const turns = clusters.get(name) ?? createClusterLimiter();
      clusters.set(name, turns);
      return turns;
    },
    countSharing() {
      const own = Math.max(1, cameMs.size);
      return part() > 0 ? Math.max(own, Math.round(own / part())) : own;
    },
    hasRoom: (floorShare) => beyond < Math.floor(part() / floorShare),
    countBeyond(by) {
      beyond += by;
    },
    forget(atMs, kept) {
      for (const [name, turns] of clusters)
        if (turns.isForgotten(atMs) && !kept.has(turns)) clusters.delete(name);
      for (const [name, lastMs] of cameMs) if (atMs - lastMs >= SHARING_MS) cameMs.delete(name);
      return clusters.size === 0 && cameMs.size === 0;
    },
  };
}

/** Divides the API quotas of one account among its invocations in flight. */
interface Quota {
  inFlight(): number;
  /** Records the start of an invocation. Returns its share. */
  begin(floorShare: number, nowMs: number): number;
  /** Records the end of an invocation, which returns its share. */
  end(share: number, floorShare: number, usage: CloudUsage | undefined, nowMs: number): void;
  /**
   * Returns the milliseconds between batches that keep the account within its quotas; 0 until calls had to
   * wait.
   */
  spacingMs(): number;
}

/**
 * The shortest time between two batches while calls wait inside functions: waiting there costs money, so the batches
 * wait instead.
 */
const SPACING_BASE_MS = 50;

/** The longest time between two batches. */
const SPACING_LIMIT_MS = 500;

/** The time between two batches grows by this factor while calls still wait. */
const SPACING_GROWTH = 1.25;

/** The time between two batches shrinks by this factor with each invocation without waiting calls. */
const SPACING_DECAY = 0.97;

/** The ceiling of a throttled account falls at most once in this time, so that one burst counts once. */
const LOWER_EVERY_MS = 1_000;

/**
 * The ceiling falls by this many times the throttled part of an invocation's calls. A single throttle among many
 * calls shows that the quota is fully spent. The function has already slowed down for it; a second
 * reduction would leave most of the quota unused.
 */
const LOWER_FOR_PART = 5;

/** The ceiling falls by this part at most. */
const LOWER_LIMIT = 1 / 2;

/** The ceiling rises by this much for every second without a throttle. */
const GROWTH_PER_SECOND = 0.01;

/**
 * Shares add up to this many times the quotas: most invocations call once and leave the rest, and throttling
 * makes shares smaller.
 */
const PROMISED = 2;

/** The half-life of the remembered peak of concurrent invocations. */
const PEAK_HALF_LIFE_MS = 5_000;

/**
 * Creates a quota with equal shares for as many invocations as recently ran at a time. So a few single invocations
 * may spend the unused part.
 *
 * Its ceiling grows by a constant and falls in proportion, and shares never fall below the floor. `part`
 * returns the part of the account's quotas to divide, from 0 to 1; it is called at each start.
 */
export function createQuota(startMs: number, part: () => number = () => 1): Quota {
  /** The part of the quotas that all invocations together may spend. */
  let ceiling = 1;
  let granted = 0;
  let inFlight = 0;
  /** The highest number of concurrent invocations, decaying over time. */
  let peak = 0;
  let spacingMs = 0;
  let changedMs = startMs;
  let loweredMs = Number.NEGATIVE_INFINITY;
  /** The ceiling before its last reduction. */
  let before = 1;

  function grow(nowMs: number): void {
    const seconds = Math.max(0, nowMs - changedMs) / 1000;
    peak *= 0.5 ** ((seconds * 1000) / PEAK_HALF_LIFE_MS);
    ceiling = Math.min(1, ceiling + seconds * GROWTH_PER_SECOND);
    changedMs = nowMs;
  }

  /** Lowers the ceiling. If several invocations report one burst, the worst counts. */
  function lower(by: number, floorShare: number, nowMs: number): void {
    if (nowMs - loweredMs >= LOWER_EVERY_MS) {
      grow(nowMs);
      before = ceiling;
      loweredMs = nowMs;
    }
    ceiling = Math.max(floorShare, Math.min(ceiling, before * (1 - by)));
  }

  return {
    inFlight: () => inFlight,
    begin(floorShare, nowMs) {
      grow(nowMs);
      inFlight += 1;
      peak = Math.max(peak, inFlight);
      const spent = part() * ceiling;
      const promised = PROMISED * spent;
      const fair = Math.min(spent, promised / Math.round(peak));
      const share = Math.max(floorShare, Math.min(fair, promised - granted));
      granted += share;
      return share;
    },
    end(share, floorShare, usage, nowMs) {
      inFlight -= 1;
      granted = inFlight === 0 ? 0 : granted - share;
      if (usage === undefined) return;
      spacingMs = getNextSpacingMs(spacingMs, usage);
      if (usage.throttled > 0) lower(getCeilingDrop(usage), floorShare, nowMs);
    },
    spacingMs: () => spacingMs,
  };
}

/**
 * Returns how much the ceiling falls. A report with throttles and no count of calls counts as throttled calls
 * only.
 */
function getCeilingDrop({ calls, throttled }: CloudUsage): number {
  return Math.min(LOWER_LIMIT, (LOWER_FOR_PART * throttled) / Math.max(calls, throttled));
}

function getNextSpacingMs(spacingMs: number, { throttled, waitedMs }: CloudUsage): number {
  if (throttled > 0 || waitedMs > 0)
    return Math.min(SPACING_LIMIT_MS, Math.max(SPACING_BASE_MS, spacingMs * SPACING_GROWTH));
  return spacingMs < SPACING_BASE_MS ? 0 : spacingMs * SPACING_DECAY;
}
