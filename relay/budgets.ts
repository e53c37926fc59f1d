import type { Cluster } from "#core/cluster.ts";

/** One invocation's part of the account's API quotas; `end` gives it back and says whether the cloud throttled. */
export interface BudgetGrant {
  /** 0 < share ≤ 1. */
  readonly share: number;
  end(throttled: boolean, nowMs: number): void;
}

/** Divides the API quotas of cloud accounts among the invocations in flight. */
export interface Budgets {
  /** Whether the account has room for one more; a cluster with nothing in flight always has, so that no other can keep it waiting. */
  mayBegin(cluster: Cluster, inFlightOfCluster: number): boolean;
  begin(cluster: Cluster, nowMs: number): BudgetGrant;
}

/** A throttled account's quotas are halved, once in this time: one burst is one message … */
const HALVE_EVERY_MS = 1_000;

/** … and grow back by this much for every second without. */
const GROWTH_PER_SECOND = 0.01;

/** How fast it is forgotten how many invocations there were at a time: by half in this time. */
const PEAK_HALF_LIFE_MS = 5_000;

/**
 * Shares by cloud account and region: equal parts for as many invocations as there lately were at a time, so that a few
 * that come one by one may spend what nobody else does. Additive growth, multiplicative decrease, and never below the
 * cluster's floor.
 */
export function createBudgets(): Budgets {
  const accounts = new Map<string, Account>();
  return {
    mayBegin(cluster, inFlightOfCluster) {
      const inFlight = accounts.get(accountKeyOf(cluster))?.inFlight ?? 0;
      return inFlightOfCluster === 0 || inFlight < Math.floor(1 / cluster.limits.floorShare);
    },
    begin(cluster, nowMs) {
      const key = accountKeyOf(cluster);
      const account = accounts.get(key) ?? {
        ceiling: 1,
        granted: 0,
        inFlight: 0,
        peak: 0,
        changedMs: nowMs,
        halvedMs: 0,
      };
      accounts.set(key, account);
      grow(account, nowMs);
      account.inFlight += 1;
      account.peak = Math.max(account.peak, account.inFlight);
      const fair = account.ceiling / Math.round(account.peak);
      const left = account.ceiling - account.granted;
      const share = Math.max(cluster.limits.floorShare, Math.min(fair, left));
      account.granted += share;
      let ended = false;
      return {
        share,
        end(throttled, endMs) {
          if (ended) return;
          ended = true;
          account.inFlight -= 1;
          account.granted = account.inFlight === 0 ? 0 : account.granted - share;
          if (throttled) halve(account, cluster.limits.floorShare, endMs);
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
  changedMs: number;
  halvedMs: number;
}

/** Invocations with the same role (or none) in the same region spend from the same quotas. */
export function accountKeyOf({ cloud }: Cluster): string {
  switch (cloud.provider) {
    case "aws":
      return `aws ${cloud.roleArn?.split(":")[4] ?? "default"} ${cloud.region}`;
    case "memory":
      return `memory ${cloud.instancesFile}`;
  }
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
