import { type Cluster, quotaKeyOf } from "#config/cluster.ts";

/** One invocation's part of the account's API quotas; `end` gives it back and says whether the cloud throttled. */
export interface BudgetGrant {
  /** 0 < share ≤ 1. */
  readonly share: number;
  /** Without usage where nothing is known of it. */
  end(usage: CloudUse | undefined, nowMs: number): void;
}

/** What a report says of an invocation's calls to the cloud: how many were throttled, and how long calls waited for their turn. */
export interface CloudUse {
  readonly throttled: number;
  readonly waitedMs: number;
}

/** Divides the API quotas of cloud accounts among the invocations in flight. */
export interface Budgets {
  /**
   * Whether the account has room for one more; a cluster with nothing in flight always has, so that no other can keep it
   * waiting. Where it has none, `waiter` is called once when there may be.
   */
  mayBegin(cluster: Cluster, inFlightOfCluster: number, waiter: () => void): boolean;
  /** Calls the waiter no more. */
  forget(waiter: () => void): void;
  begin(cluster: Cluster, nowMs: number): BudgetGrant;
  /** Milliseconds between batches for which the account's quotas last: 0 until calls had to wait for their turn. */
  spacingMs(cluster: Cluster): number;
}

/** Calls that wait in a function are paid for, so batches wait in its place: this far apart at first … */
const SPACING_BASE_MS = 50;
/** … ever further while calls still wait, up to here … */
const SPACING_LIMIT_MS = 500;
const SPACING_GROWTH = 1.25;
/** … and closer again with each invocation that did not. */
const SPACING_DECAY = 0.97;

/** A throttled account's quotas are halved, once in this time: one burst is one message … */
const HALVE_EVERY_MS = 1_000;

/** … and grow back by this much for every second without. */
const GROWTH_PER_SECOND = 0.01;

/** Shares come to so many times the quotas: most invocations call once and leave the rest, and throttling makes them smaller. */
const PROMISED = 2;

/** How fast it is forgotten how many invocations there were at a time: by half in this time. */
const PEAK_HALF_LIFE_MS = 5_000;

/**
 * Shares by cloud account and region: equal parts for as many invocations as there lately were at a time, so that a few
 * that come one by one may spend what nobody else does. Additive growth, multiplicative decrease, and never below the
 * cluster's floor.
 */
export function createBudgets(): Budgets {
  const accounts = new Map<string, Account>();
  const keys = new WeakMap<Cluster, string>();

  /** Asked several times for every batch, of clusters that do not change. */
  function keyOf(cluster: Cluster): string {
    const key = keys.get(cluster) ?? quotaKeyOf(cluster);
    keys.set(cluster, key);
    return key;
  }

  return {
    spacingMs: (cluster) => accounts.get(keyOf(cluster))?.spacingMs ?? 0,
    mayBegin(cluster, inFlightOfCluster, waiter) {
      if (inFlightOfCluster === 0) return true;
      const account = accounts.get(keyOf(cluster));
      if (account === undefined || account.inFlight < Math.floor(1 / cluster.limits.floorShare)) return true;
      account.waiting.add(waiter);
      return false;
    },
    forget(waiter) {
      for (const { waiting } of accounts.values()) waiting.delete(waiter);
    },
    begin(cluster, nowMs) {
      const key = keyOf(cluster);
      const account = accounts.get(key) ?? {
        ceiling: 1,
        granted: 0,
        inFlight: 0,
        peak: 0,
        spacingMs: 0,
        changedMs: nowMs,
        halvedMs: 0,
        waiting: new Set(),
      };
      accounts.set(key, account);
      grow(account, nowMs);
      account.inFlight += 1;
      account.peak = Math.max(account.peak, account.inFlight);
      const promised = PROMISED * account.ceiling;
      const fair = Math.min(account.ceiling, promised / Math.round(account.peak));
      const share = Math.max(cluster.limits.floorShare, Math.min(fair, promised - account.granted));
      account.granted += share;
      let ended = false;
      return {
        share,
        end(usage, endMs) {
          if (ended) return;
          ended = true;
          account.inFlight -= 1;
          account.granted = account.inFlight === 0 ? 0 : account.granted - share;
          if (usage !== undefined) {
            account.spacingMs = spacingAfter(account.spacingMs, usage);
            if (usage.throttled > 0) halve(account, cluster.limits.floorShare, endMs);
          }
          callAll(account.waiting);
        },
      };
    },
  };
}

interface Account {
  /** What of the quotas is spent at most, all invocations together. */
  ceiling: number;
  granted: number;
  inFlight: number;
  /** The most that were in flight at a time, forgotten little by little. */
  peak: number;
  spacingMs: number;
  changedMs: number;
  halvedMs: number;
  /** Clusters that wait for room. */
  readonly waiting: Set<() => void>;
}

/** Each may wait again meanwhile. */
function callAll(waiting: Set<() => void>): void {
  const waiters = [...waiting];
  waiting.clear();
  for (const waiter of waiters) waiter();
}

function spacingAfter(spacingMs: number, { throttled, waitedMs }: CloudUse): number {
  if (throttled > 0 || waitedMs > 0)
    return Math.min(SPACING_LIMIT_MS, Math.max(SPACING_BASE_MS, spacingMs * SPACING_GROWTH));
  return spacingMs < SPACING_BASE_MS ? 0 : spacingMs * SPACING_DECAY;
}

function grow(account: Account, nowMs: number): void {
  const seconds = Math.max(0, nowMs - account.changedMs) / 1000;
  account.peak *= 0.5 ** ((seconds * 1000) / PEAK_HALF_LIFE_MS);
  account.ceiling = Math.min(1, account.ceiling + seconds * GROWTH_PER_SECOND);
  account.changedMs = nowMs;
}

function halve(account: Account, floor: number, nowMs: number): void {
  if (nowMs - account.halvedMs < HALVE_EVERY_MS) return;
  grow(account, nowMs);
  account.ceiling = Math.max(floor, account.ceiling / 2);
  account.halvedMs = nowMs;
}
