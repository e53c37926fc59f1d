import type { Clock } from "#kube/follow/clock.ts";
import type { InvocationEnd } from "#relay/delivery/gate.ts";
import { ABANDONED } from "#relay/delivery/invoker.ts";

/** A place for one invocation; it is free again after one of the two, which is called once. */
export interface FunctionPlace {
  leave(): void;
  ended(end: Pick<InvocationEnd, "code" | "refused">): void;
}

/** How many invocations of one function may be in flight, as the platform's refusals teach it. */
export interface FunctionGate {
  /** A place; or none, and the waiter stands in the queue until it is called. */
  enter(waiter: () => void): FunctionPlace | undefined;
  forget(waiter: () => void): void;
}

/** Most refusals are back within this time: a level that has stood full for so long holds, and the next step is tried. */
const STEP_MS = 25;

/** A step goes this part beyond what holds; what it overshoots is refused. */
const STEP_PART = 1 / 4;

/** For every refusal so many invocations have to be taken before more are tried again: about 5 % are refused … */
const TAKEN_FOR_REFUSED = 20;

/** … or this long has to pass, as a limit may be lifted while little is sent. */
const HOLD_MS = 30_000;

/** Waits of a closed gate: full jitter, doubled with every refusal in a row … */
const WAIT_BASE_MS = 250;

/** … up to here, as one invocation in some seconds for all clusters together is no load … */
const WAIT_LIMIT_MS = 5_000;

/** … or up to here, for what only somebody's action mends. */
const DENIED_WAIT_LIMIT_MS = 30_000;

/**
 * Opens with one invocation in flight, and lets more in, step by step, as long as none is refused. A refusal beside others that
 * are taken tells what the platform takes: so many, and no more for a while. Any other refusal closes the gate for a while;
 * then one goes ahead, and the others follow once it was taken. `random` is uniform in [0, 1).
 */
export function createFunctionGate(clock: Clock, random: () => number): FunctionGate {
  /** In the order in which they came, which is the order of their turns. */
  const waiting = new Set<() => void>();
  /** The one whose turn it is; it passes those in the queue. */
  let called: (() => void) | undefined;
  let inFlight = 0;
  /** So many at a time are known to be taken, or are being tried. */
  let level = 1;
  /** Since when the level is tried: since so many were first in flight; undefined where they never were. */
  let triedMs: number | undefined;
  /** Invocations that have to be taken before the level rises again, until `holdUntilMs` at the latest. */
  let owed = 0;
  let holdUntilMs = Number.NEGATIVE_INFINITY;
  /** When one was last taken. */
  let takenMs = Number.NEGATIVE_INFINITY;
  let refusalsInRow = 0;
  let opensMs = Number.NEGATIVE_INFINITY;
  /** After a closure: one goes ahead, and nobody else until it is back. */
  let trial: "none" | "due" | "running" = "none";
  let cancelTimer = (): void => {};

  /** Milliseconds until there may be a place: 0 is now, undefined is not before something comes back. */
  function waitMs(nowMs: number): number | undefined {
    if (nowMs < opensMs) return opensMs - nowMs;
    if (trial !== "none") return trial === "due" ? 0 : undefined;
    if (inFlight < level) return 0;
    const heldMs = owed > 0 ? holdUntilMs - nowMs : 0;
    return Math.max(0, heldMs, (triedMs ?? nowMs) + STEP_MS - nowMs);
  }

  function enter(waiter: () => void): FunctionPlace | undefined {
    const nowMs = clock.now();
    const isNext = waiting.size === 0 || waiter === called;
    if (!isNext || waitMs(nowMs) !== 0) {
      waiting.add(waiter);
      if (called === undefined) arm(nowMs);
      return undefined;
    }
    called = undefined;
    const isTrial = trial === "due";
    if (isTrial) trial = "running";
    else if (inFlight >= level) {
      level = inFlight + Math.max(1, Math.floor(level * STEP_PART));
      triedMs = undefined;
    }
    inFlight += 1;
    if (inFlight >= level) triedMs ??= nowMs;
    return placeOf(isTrial, nowMs);
  }

  function placeOf(isTrial: boolean, beganMs: number): FunctionPlace {
    const leave = (): void => {
      inFlight -= 1;
      if (isTrial && trial === "running") trial = "due";
      callWaiters();
    };
    return {
      leave,
      ended({ code, refused }) {
        if (code === ABANDONED) return leave();
        inFlight -= 1;
        const isBesideOthers = inFlight > 0 || takenMs >= beganMs;
        if (code === undefined || !refused) taken();
        else if (code === "Throttled" && isBesideOthers && !isTrial) tooMany();
        else if (isTrial || clock.now() >= opensMs) close(code);
        callWaiters();
      },
    };
  }

  function taken(): void {
    owed = Math.max(0, owed - 1);
    takenMs = clock.now();
    refusalsInRow = 0;
    trial = "none";
    opensMs = Number.NEGATIVE_INFINITY;
  }

  function tooMany(): void {
    level = Math.max(1, Math.min(level, inFlight));
    owed += TAKEN_FOR_REFUSED;
    holdUntilMs = clock.now() + HOLD_MS;
  }

  function close(code: string): void {
    refusalsInRow += 1;
    level = 1;
    triedMs = undefined;
    owed = 0;
    trial = "due";
    const limitMs = code === "Denied" ? DENIED_WAIT_LIMIT_MS : WAIT_LIMIT_MS;
    const ceilingMs = Math.min(limitMs, WAIT_BASE_MS * 2 ** Math.min(refusalsInRow, 20));
    opensMs = clock.now() + WAIT_BASE_MS + random() * (ceilingMs - WAIT_BASE_MS);
  }

  /** Each that waits has a turn while there are places; one that has more to send stands in the queue again. */
  function callWaiters(): void {
    for (const waiter of [...waiting]) {
      if (waitMs(clock.now()) !== 0) break;
      if (!waiting.delete(waiter)) continue;
      called = waiter;
      waiter();
      called = undefined;
    }
    arm(clock.now());
  }

  function arm(nowMs: number): void {
    cancelTimer();
    cancelTimer = () => {};
    const delayMs = waiting.size === 0 ? undefined : waitMs(nowMs);
    if (delayMs !== undefined) cancelTimer = clock.after(delayMs, callWaiters);
  }

  return { enter, forget: (waiter) => void waiting.delete(waiter) };
}
