import type { Clock } from "#kube/follow/clock.ts";
import { createBreaker } from "#relay/delivery/breaker.ts";
import type { ClusterTurns } from "#relay/delivery/cluster-turns.ts";
import {
  createFunctionGate,
  type FunctionGate,
  type FunctionGateStatus,
} from "#relay/delivery/function-gate.ts";
import type { Gate, GateRequest, InvocationEnd, Place } from "#relay/delivery/gate.ts";
import { createGateAccount, type GateAccount } from "#relay/delivery/gate-account.ts";

export interface GateOptions {
  readonly clock: Clock;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  /** Which part of an account's quotas is this process's, 0 to 1, where other processes spend the rest; all of it without this. */
  readonly partOf?: ((quotaKey: string) => number) | undefined;
}

/** The gate of a process, and how it stands. */
export interface ProcessGate extends Gate {
  status(): GateStatus;
}

/** What an operator may want to know of a gate; plain data. */
export interface GateStatus {
  /** Batches that wait for leave. */
  readonly waiting: number;
  /** Clusters that have one slot at a time, as their invocations are slow or fail. */
  readonly slowedClusters: readonly string[];
  /** Whether the platform cannot be reached at all. */
  readonly platformOpen: boolean;
  /** By controller, for those that have invoked. */
  readonly functions: Readonly<Record<string, FunctionGateStatus>>;
}

/** How often is looked for what need not be remembered any more. */
const FORGET_EVERY_MS = 60_000;

/**
 * The gate of a process. Leave takes three things. Of the platform, a place of the function (and that it can be reached at all).
 * Of the account, room: for one of each cluster in any case, so that no other can keep it waiting, and beyond these for as many as
 * its quotas have shares. Of the cluster, that it has none in flight, or that its invocations go well. Where there is not enough for
 * all, whoever has taken least lately is first.
 */
export function createGate({ clock, random, partOf = () => 1 }: GateOptions): ProcessGate {
  const platform = createBreaker(random);
  const functions = new Map<string, FunctionGate>();
  const accounts = new Map<string, GateAccount>();
  /** In the order in which they came, by what is called. */
  const waiting = new Map<() => void, Waiting>();
  /** The one whose turn it is; it passes those that wait. */
  let called: (() => void) | undefined;
  let isCalling = false;
  let timer: { readonly atMs: number; readonly cancel: () => void } | undefined;
  let forgotMs = clock.now();

  function waitingOf(request: GateRequest): Waiting {
    const { controller, cluster, quotaKey } = request;
    const fn = functions.get(controller) ?? createFunctionGate(platform, random);
    functions.set(controller, fn);
    const account = accounts.get(quotaKey) ?? createGateAccount(clock.now(), () => partOf(quotaKey));
    accounts.set(quotaKey, account);
    return { request, fn, account, cluster: account.cluster(cluster, clock.now()) };
  }

  function enter(request: GateRequest, waiter: () => void): Place | undefined {
    const nowMs = clock.now();
    const asks = waitingOf(request);
    if (mayGo(asks, nowMs) && (waiter === called || !isPassed(asks, nowMs))) {
      called = undefined;
      waiting.delete(waiter);
      return placeOf(asks, nowMs);
    }
    waiting.set(waiter, asks);
    if (!isCalling) arm(asks, nowMs);
    return undefined;
  }

  /** Whether somebody waits who may go now, and would lack what is taken here. */
  function isPassed(asks: Waiting, nowMs: number): boolean {
    for (const other of waiting.values())
      if ((other.fn === asks.fn || other.account === asks.account) && mayGo(other, nowMs)) return true;
    return false;
  }

  function placeOf({ request, fn, account, cluster }: Waiting, beganMs: number): Place {
    const place = fn.begin(cluster.isSlowed(beganMs), beganMs);
    if (cluster.inFlight() > 0) account.countBeyond(1);
    const turn = cluster.begin(beganMs);
    const share = account.quota.begin(request.floorShare, beganMs);
    let isOver = false;
    const over = (end: InvocationEnd | undefined): void => {
      if (isOver) return;
      isOver = true;
      const nowMs = clock.now();
      if (end === undefined) place.leave(nowMs);
      else place.ended(end, nowMs);
      // What is lost while nothing can be reached says nothing of a cluster.
      if (end === undefined || (end.code === "Unreachable" && platform.isOpen())) turn.leave();
      else turn.ended(end, nowMs);
      if (cluster.inFlight() > 0) account.countBeyond(-1);
      account.quota.end(share, request.floorShare, end?.usage, nowMs);
      callWaiters();
    };
    return { share, accountClusters: account.countSharing(), leave: () => over(undefined), ended: over };
  }

  /** Each that waits has a turn while there is leave; one that has more to send stands in the queue again. */
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

  /** Of those that may go, the one whose cluster has taken least lately; of these, the one that has waited longest. */
  function next(nowMs: number): (() => void) | undefined {
    let first: (() => void) | undefined;
    let leastMs = Number.POSITIVE_INFINITY;
    const free = new Set([...functions.values()].filter((fn) => fn.waitMs(nowMs) === 0));
    if (free.size === 0) return undefined;
    for (const [waiter, asks] of waiting) {
      if (!free.has(asks.fn) || !hasLeave(asks, nowMs)) continue;
      const usedMs = asks.cluster.usedMs(nowMs);
      if (usedMs >= leastMs) continue;
      first = waiter;
      leastMs = usedMs;
    }
    return first;
  }

  /** Once for each function will do. */
  function armAll(nowMs: number): void {
    timer?.cancel();
    timer = undefined;
    const armed = new Set<FunctionGate>();
    for (const asks of waiting.values()) {
      if (armed.has(asks.fn) || !hasLeave(asks, nowMs)) continue;
      armed.add(asks.fn);
      arm(asks, nowMs);
      if (armed.size === functions.size) return;
    }
  }

  /** Sees to it that whoever waits for nothing but time is called; what else is waited for comes back, and calls by itself. */
  function arm(asks: Waiting, nowMs: number): void {
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

interface Waiting {
  readonly request: GateRequest;
  readonly fn: FunctionGate;
  readonly account: GateAccount;
  readonly cluster: ClusterTurns;
}

function mayGo(asks: Waiting, nowMs: number): boolean {
  return hasLeave(asks, nowMs) && asks.fn.waitMs(nowMs) === 0;
}

/** Whether nothing but the function's gate stands between a cluster and one more invocation. */
function hasLeave({ request, fn, account, cluster }: Waiting, nowMs: number): boolean {
  const isSlowed = cluster.isSlowed(nowMs);
  if (isSlowed && !fn.isForSlow(nowMs)) return false;
  return cluster.inFlight() === 0 || (!isSlowed && account.hasRoom(request.floorShare));
}
