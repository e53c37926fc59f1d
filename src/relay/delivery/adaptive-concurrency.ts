import { ABANDONED } from "#platforms/invoker.ts";
import { type Breaker, createBreaker } from "#relay/delivery/breaker.ts";
import type { InvocationEnd } from "#relay/delivery/invocation-limiter.ts";

/** A permit for one invocation of a function. Exactly one of its two methods is called once and frees it. */
export interface FunctionPermit {
  leave(nowMs: number): void;
  ended(end: Pick<InvocationEnd, "code" | "refused">, nowMs: number): void;
}

/**
 * Limits how many invocations of one function are in flight. It learns the limit from the platform's
 * refusals.
 */
export interface AdaptiveConcurrency {
  /**
   * Returns the milliseconds until a permit may be free. 0 means now; undefined means not before an invocation
   * ends.
   */
  waitMs(nowMs: number): number | undefined;
  /**
   * Returns whether a slow cluster may have a permit. When permits are scarce, slow clusters leave some to
   * others.
   */
  isForSlow(nowMs: number): boolean;
  /** Takes a free permit. */
  begin(isSlow: boolean, nowMs: number): FunctionPermit;
  status(): AdaptiveConcurrencyStatus;
}

/** The state of a function's concurrency limit. */
export interface AdaptiveConcurrencyStatus {
  readonly inFlight: number;
  /** The number of invocations allowed at a time. */
  readonly places: number;
  /** Whether the circuit is open: only occasional trials pass. */
  readonly open: boolean;
}

/**
 * Most refusals arrive within this time. A level that has been full for so long holds, and the next step is
 * tried.
 */
const STEP_MS = 25;

/** A step raises the level by this part. The platform refuses the excess. */
const STEP_PART = 1 / 4;

/** After a refusal, this many invocations must be accepted before the level rises: about 5 % are refused. */
const ACCEPTED_PER_REFUSAL = 20;

/** After this time without a refusal the level may rise in any case: a limit may be lifted while little is sent. */
const HOLD_MS = 30_000;

/**
 * For this long after a refusal, permits are scarce: slow clusters leave this part of them, and at least one,
 * to others.
 */
const FEW_MS = 600_000;
const PART_FOR_QUICK = 1 / 4;

/**
 * The platform has failed if an answer is lost sooner than this and none arrives. A later loss may be the
 * invocation's own fault: some gateways do not wait for slow answers, and a tenant can cause one.
 */
const SUDDEN_MS = 3_000;

/** The longest wait while the circuit is open: one trial every few seconds for all clusters is no load. */
const WAIT_LIMIT_MS = 5_000;

/** The longest wait after a refusal that only an operator can end. */
const DENIED_WAIT_LIMIT_MS = 30_000;

/**
 * Creates a concurrency limit that starts with one invocation in flight and rises step by step until one is
 * refused.
 *
 * A refusal while others are accepted shows the platform's limit, which then holds for a while. Every other
 * refusal is waited out: by the function's own circuit if it concerns the function, by the platform's shared
 * one if nothing can be reached. The result of an accepted invocation, however long it took, blocks no other.
 * `random` is uniform in [0, 1).
 */
export function createAdaptiveConcurrency(platform: Breaker, random: () => number): AdaptiveConcurrency {
  const own = createBreaker(random);
  let openings = platform.countOpenings();
  let inFlight = 0;
  let slowInFlight = 0;
  /** The number of concurrent invocations that is known to be accepted or is being tried. */
  let level = 1;
  /** Since when the level has been full; undefined if it never was. */
  let triedMs: number | undefined;
  /** Invocations that must be accepted before the level rises again, at the latest at `holdUntilMs`. */
  let owed = 0;
  let holdUntilMs = Number.NEGATIVE_INFINITY;
  let fewUntilMs = Number.NEGATIVE_INFINITY;
  /** When an invocation was last accepted. */
  let lastAcceptedMs = Number.NEGATIVE_INFINITY;

  /** After an outage, starts again with few invocations at a time. */
  function reset(): void {
    level = 1;
    triedMs = undefined;
    owed = 0;
  }

  function resetAfterOutage(): void {
    if (openings === platform.countOpenings()) return;
    openings = platform.countOpenings();
    reset();
  }

  function waitMs(nowMs: number): number | undefined {
    resetAfterOutage();
    const closedMs = Math.max(platform.waitMs(nowMs), own.waitMs(nowMs));
    if (closedMs > 0) return closedMs;
    if (platform.isOpen() || own.isOpen() || inFlight < level) return 0;
    const heldMs = owed > 0 ? holdUntilMs - nowMs : 0;
    // After an outage, older invocations may fill the level: its first step is timed from here.
    triedMs ??= nowMs;
    return Math.max(0, heldMs, triedMs + STEP_MS - nowMs);
  }

  function begin(isSlow: boolean, nowMs: number): FunctionPermit {
    const onTrial = { platform: platform.begin(nowMs), own: own.begin(nowMs) };
    if (!onTrial.platform && !onTrial.own && inFlight >= level) {
      level = inFlight + Math.max(1, Math.floor(level * STEP_PART));
      triedMs = undefined;
    }
    inFlight += 1;
    if (isSlow) slowInFlight += 1;
    if (inFlight >= level) triedMs ??= nowMs;
    const free = (): void => {
      inFlight -= 1;
      if (isSlow) slowInFlight -= 1;
    };
    const learnNothing = (): void => {
      platform.recordUnknown(onTrial.platform);
      own.recordUnknown(onTrial.own);
    };
    return {
      leave() {
        free();
        learnNothing();
      },
      ended(end, endedMs) {
        free();
        if (end.code === ABANDONED) learnNothing();
        else if (end.code === "Unreachable") handleUnreachable(end.refused, onTrial, nowMs, endedMs);
        else handleReached(end, onTrial, nowMs, endedMs);
      },
    };
  }

  function handleUnreachable(refused: boolean, onTrial: Trials, beganMs: number, nowMs: number): void {
    own.recordUnknown(onTrial.own);
    const isSudden = nowMs - beganMs < SUDDEN_MS && platform.getLastAnswerMs() < beganMs;
    if (refused || isSudden) platform.recordRefusal(onTrial.platform, WAIT_LIMIT_MS, nowMs);
    else platform.recordUnknown(onTrial.platform);
  }

  function handleReached(
    { code, refused }: Pick<InvocationEnd, "code" | "refused">,
    onTrial: Trials,
    beganMs: number,
    nowMs: number,
  ): void {
    // A timeout proves nothing about the platform: the tenant's API server may be the silent one.
    if (code === "TimedOut") platform.recordUnknown(onTrial.platform);
    else platform.recordAnswer(nowMs);
    const isBesideOthers = inFlight > 0 || lastAcceptedMs >= beganMs;
    if (code === undefined || !refused) recordAccepted(nowMs);
    else if (code === "Throttled" && isBesideOthers && !onTrial.own) lowerLevel(nowMs);
    else {
      if (!own.isOpen()) reset();
      own.recordRefusal(onTrial.own, code === "Denied" ? DENIED_WAIT_LIMIT_MS : WAIT_LIMIT_MS, nowMs);
    }
  }

  function recordAccepted(nowMs: number): void {
    owed = Math.max(0, owed - 1);
    lastAcceptedMs = nowMs;
    own.recordAnswer(nowMs);
  }

  function lowerLevel(nowMs: number): void {
    level = Math.max(1, Math.min(level, inFlight));
    owed += ACCEPTED_PER_REFUSAL;
    holdUntilMs = nowMs + HOLD_MS;
    fewUntilMs = nowMs + FEW_MS;
  }

  return {
    waitMs,
    isForSlow(nowMs) {
      if (nowMs >= fewUntilMs) return true;
      return slowInFlight < Math.max(1, level - Math.max(1, Math.floor(level * PART_FOR_QUICK)));
    },
    begin,
    status: () => ({ inFlight, places: level, open: platform.isOpen() || own.isOpen() }),
  };
}

interface Trials {
  readonly platform: boolean;
  readonly own: boolean;
}
