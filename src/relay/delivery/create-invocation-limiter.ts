import type { Clock } from "#kube/follow/clock.ts";
import {
  type AdaptiveConcurrency,
  type AdaptiveConcurrencyStatus,
  createAdaptiveConcurrency,
} from "#relay/delivery/adaptive-concurrency.ts";
import { createBreaker } from "#relay/delivery/breaker.ts";
import type { ClusterLimiter } from "#relay/delivery/cluster-limiter.ts";
import type {
  InvocationEnd,
  InvocationLimiter,
  InvocationPermit,
  PermitRequest,
} from "#relay/delivery/invocation-limiter.ts";
import { createLimiterAccount, type LimiterAccount } from "#relay/delivery/limiter-account.ts";

export interface InvocationLimiterOptions {
  readonly clock: Clock;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  /**
   * Returns this process's part of an account's quotas, from 0 to 1, if other processes share them; all of it
   * by default.
   */
  readonly partOf?: ((quotaKey: string) => number) | undefined;
}

/** The invocation limiter of a process, with its status. */
export interface ProcessInvocationLimiter extends InvocationLimiter {
  status(): InvocationLimiterStatus;
}

/** The state of an invocation limiter, for operators; plain data. */
export interface InvocationLimiterStatus {
  /** Batches that wait for a permit. */
  readonly waiting: number;
  /** Clusters with one permit at a time, because their invocations are slow or fail. */
  readonly slowedClusters: readonly string[];
  /** Whether the platform's circuit is open because nothing can be reached. */
  readonly platformOpen: boolean;
  /** By controller, for controllers that have invoked. */
  readonly functions: Readonly<Record<string, AdaptiveConcurrencyStatus>>;
}

/** How often outdated records are dropped. */
const FORGET_EVERY_MS = 60_000;

/**
 * Creates the invocation limiter of a process. A permit needs three things:
 *
 * - The platform can be reached and the function's concurrency limit has room.
 * - The account has room. Every cluster may always have one invocation, so that no other can block it;
 *   more depend on how many shares the quotas have.
 * - The cluster has none in flight, or its invocations succeed.
 *
 * When there is not enough for all, the cluster that has used least lately comes first.
 */
export function createInvocationLimiter({
  clock,
  random,
  partOf = () => 1,
}: InvocationLimiterOptions): ProcessInvocationLimiter {
  const platform = createBreaker(random);
  const functions = new Map<string, AdaptiveConcurrency>();
  const accounts = new Map<string, LimiterAccount>();
  /** In order of arrival, by the function to call. */
  const waiting = new Map<() => void, WaitingInvocation>();
  /** The waiter that is next; it passes those that wait. */
  let called: (() => void) | undefined;
  let isCalling = false;
  let timer: { readonly atMs: number; readonly cancel: () => void } | undefined;
  let forgotMs = clock.now();

  function waitingOf(request: PermitRequest): WaitingInvocation {
    const { controller, cluster, quotaKey } = request;
    const fn = functions.get(controller) ?? createAdaptiveConcurrency(platform, random);
    functions.set(controller, fn);
    const account = accounts.get(quotaKey) ?? createLimiterAccount(clock.now(), () => partOf(quotaKey));
    accounts.set(quotaKey, account);
    return { request, fn, account, cluster: account.cluster(cluster, clock.now()) };
  }

  function enter(request: PermitRequest, waiter: () => void): InvocationPermit | undefined {
    const nowMs = clock.now();
    const asks = waitingOf(request);
    if (canStart(asks, nowMs) && (waiter === called || !isPassed(asks, nowMs))) {
      called = undefined;
      waiting.delete(waiter);
      return beginInvocation(asks, nowMs);
    }
    waiting.set(waiter, asks);
    if (!isCalling) arm(asks, nowMs);
    return undefined;
  }

  /** Returns whether an earlier waiter could go now and would lack what this request takes. */
  function isPassed(asks: WaitingInvocation, nowMs: number): boolean {
    for (const other of waiting.values())
      if ((other.fn === asks.fn || other.account === asks.account) && canStart(other, nowMs)) return true;
    return false;
  }

  function beginInvocation(
    { request, fn, account, cluster }: WaitingInvocation,
    beganMs: number,
  ): InvocationPermit {
    const functionPermit = fn.begin(cluster.isSlowed(beganMs), beganMs);
    if (cluster.inFlight() > 0) account.countBeyond(1);
    const clusterPermit = cluster.begin(beganMs);
    const share = account.quota.begin(request.floorShare, beganMs);
    let isOver = false;
    const endInvocation = (end: InvocationEnd | undefined): void => {
      if (isOver) return;
      isOver = true;
      const nowMs = clock.now();
      if (end === undefined) functionPermit.cancel();
      else functionPermit.recordEnd(end, nowMs);
      // A loss while nothing can be reached says nothing about the cluster.
      if (end === undefined || (end.code === "Unreachable" && platform.isOpen())) clusterPermit.cancel();
      else clusterPermit.recordEnd(end, nowMs);
      if (cluster.inFlight() > 0) account.countBeyond(-1);
      account.quota.end(share, request.floorShare, end?.usage, nowMs);
      callWaiters();
    };
    return {
      share,
      accountClusters: account.countSharing(),
      leave: () => endInvocation(undefined),
      ended: endInvocation,
    };
  }

  /** Calls each waiter in turn while there are permits. A waiter with more to send queues again. */
  function callWaiters(): void {
    if (isCalling) return;
    isCalling = true;
    const nowMs = clock.now();
    for (let turns = waiting.size; turns > 0; turns -= 1) {
      const waiter = next(nowMs);
      if (waiter === undefined) break;
      waiting.delete(waiter);
      called = waiter;
      waiter();
      called = undefined;
    }
    isCalling = false;
    armAll(nowMs);
    if (nowMs - forgotMs >= FORGET_EVERY_MS) forgetOld(nowMs);
  }

  /**
   * Returns, of the waiters that may go, the one whose cluster has used least lately, then the longest
   * waiting one.
   */
  function next(nowMs: number): (() => void) | undefined {
    let first: (() => void) | undefined;
    let leastMs = Number.POSITIVE_INFINITY;
    const free = new Set([...functions.values()].filter((fn) => fn.waitMs(nowMs) === 0));
    if (free.size === 0) return undefined;
    for (const [waiter, asks] of waiting) {
      if (!free.has(asks.fn) || !hasLeave(asks, nowMs)) continue;
      const usedMs = asks.cluster.getUsedMs(nowMs);
      if (usedMs >= leastMs) continue;
      first = waiter;
      leastMs = usedMs;
    }
    return first;
  }

  /** One timer for each function is enough. */
  function armAll(nowMs: number): void {
    timer?.cancel();
    timer = undefined;
    const armed = new Set<AdaptiveConcurrency>();
    for (const asks of waiting.values()) {
      if (armed.has(asks.fn) || !hasLeave(asks, nowMs)) continue;
      armed.add(asks.fn);
      arm(asks, nowMs);
      if (armed.size === functions.size) return;
    }
  }

  /**
   * Arms a timer for a waiter that waits only for time to pass. Everything else that it may wait for calls it
   * when it ends.
   */
  function arm(asks: WaitingInvocation, nowMs: number): void {
    const delayMs = hasLeave(asks, nowMs) ? asks.fn.waitMs(nowMs) : undefined;
    if (delayMs === undefined || (timer !== undefined && timer.atMs <= nowMs + delayMs)) return;
    timer?.cancel();
    timer = { atMs: nowMs + delayMs, cancel: clock.after(delayMs, callWaiters) };
  }

  function forgetOld(nowMs: number): void {
    forgotMs = nowMs;
    const kept = new Set([...waiting.values()].map(({ cluster }) => cluster));
    for (const [key, account] of accounts) if (account.forget(nowMs, kept)) accounts.delete(key);
  }

  return {
    enter,
    forget: (waiter) => void waiting.delete(waiter),
    spacingMs: (quotaKey) => accounts.get(quotaKey)?.quota.spacingMs() ?? 0,
    status() {
      const nowMs = clock.now();
      const clusters = [...accounts.values()].flatMap((account) => [...account.clusters]);
      return {
        waiting: waiting.size,
        slowedClusters: clusters.filter(([, turns]) => turns.isSlowed(nowMs)).map(([name]) => name),
        platformOpen: platform.isOpen(),
        functions: Object.fromEntries([...functions].map(([name, fn]) => [name, fn.status()])),
      };
    },
  };
}

interface WaitingInvocation {
  readonly request: PermitRequest;
  readonly fn: AdaptiveConcurrency;
  readonly account: LimiterAccount;
  readonly cluster: ClusterLimiter;
}

function canStart(asks: WaitingInvocation, nowMs: number): boolean {
  return hasLeave(asks, nowMs) && asks.fn.waitMs(nowMs) === 0;
}

/** Returns whether only the function's own limit can still delay this cluster's next invocation. */
function hasLeave({ request, fn, account, cluster }: WaitingInvocation, nowMs: number): boolean {
  const isSlowed = cluster.isSlowed(nowMs);
  if (isSlowed && !fn.admitsSlowCluster(nowMs)) return false;
  return cluster.inFlight() === 0 || (!isSlowed && account.hasRoom(request.floorShare));
}
