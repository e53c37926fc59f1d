import { ABANDONED } from "#platforms/invoker.ts";
import { type Breaker, createBreaker } from "#relay/delivery/breaker.ts";
import type { InvocationEnd } from "#relay/delivery/invocation-limiter.ts";

/** A permit for one invocation of a function. Exactly one of its two methods is called once and frees it. */
export interface FunctionPermit {
  /** Gives the permit back because nothing was sent. */
  cancel(): void;
  recordEnd(end: Pick<InvocationEnd, "code" | "refused">, nowMs: number): void;
}

/**
 * Limits how many invocations of one function are in flight. It learns the limit from the platform's
 * refusals.
 */
export interface AdaptiveConcurrency {
  /** Returns the milliseconds until a permit may be free; 0 means now. */
  waitMs(nowMs: number): number;
  /**
   * Returns whether a slow cluster may have a permit. When permits are scarce, slow clusters leave some to
   * others.
   */
  admitsSlowCluster(nowMs: number): boolean;
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
 * Most refusals arrive within this time. If a full level is not refused for this long, the platform accepts it, and the
 * next step is tried.
 */
const STEP_MS = 25;

/** A step allows this part of the level more than are in flight, and at least one more. */
const STEP_PART = 1 / 4;

/** After a refusal, this many invocations must be accepted before the level rises, so that about 5 % are refused. */
const ACCEPTED_PER_REFUSAL = 20;

/**
 * After this time without a refusal the level may rise in any case. The platform's limit may have risen while too
 * little was sent to notice.
 */
const HOLD_MS = 30_000;

/** For this long after a refusal, permits are scarce: slow clusters leave some to others. */
const SCARCE_MS = 600_000;

/** The part of scarce permits that slow clusters leave to others: at least one, if there are two or more. */
const RESERVED_PART = 1 / 4;

/**
 * An answer that is lost within this time counts as a failure of the platform, unless another answer has arrived since
 * the invocation began. A later loss may be the invocation's own fault: some gateways do not wait for slow answers, and
 * a tenant can cause one.
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
 * A throttled invocation shows the platform's limit if others are in flight or were accepted since it began. The level
 * then holds for a while. Every other refusal is waited out: by the function's own circuit if it concerns the function,
 * by the platform's shared one if nothing can be reached. The result of an accepted invocation, however long it took,
 * blocks no other. `random` is uniform in [0, 1).
 */
export function createAdaptiveConcurrency(platform: Breaker, random: () => number): AdaptiveConcurrency {
  const own = createBreaker(random);
  let openings = platform.countOpenings();
  let inFlight = 0;
  let slowInFlight = 0;
  /** The number of concurrent invocations that is known to be accepted or is being tried. */
  let level = 1;
  /** When this level was first full; undefined if it has not been full since the last rise or reset. */
  let triedMs: number | undefined;
  /** The level rises after this many accepted invocations, or at `holdUntilMs`. */
  let owed = 0;
  let holdUntilMs = Number.NEGATIVE_INFINITY;
  let scarceUntilMs = Number.NEGATIVE_INFINITY;
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

  function waitMs(nowMs: number): number {
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
    const trials = { platform: platform.begin(nowMs), own: own.begin(nowMs) };
    if (!trials.platform && !trials.own && inFlight >= level) {
      level = inFlight + Math.max(1, Math.floor(level * STEP_PART));
      triedMs = undefined;
    }
    inFlight += 1;
    if (isSlow) slowInFlight += 1;
    if (inFlight >= level) triedMs ??= nowMs;
    const release = (): void => {
      inFlight -= 1;
      if (isSlow) slowInFlight -= 1;
    };
    const learnNothing = (): void => {
      platform.recordUnknown(trials.platform);
      own.recordUnknown(trials.own);
    };
    return {
      cancel() {
        release();
        learnNothing();
      },
      recordEnd(end, endedMs) {
        release();
        if (end.code === ABANDONED) learnNothing();
        else if (end.code === "Unreachable") handleUnreachable(end.refused, trials, nowMs, endedMs);
        else handleReached(end, trials, nowMs, endedMs);
      },
    };
  }

  function handleUnreachable(refused: boolean, trials: Trials, beganMs: number, nowMs: number): void {
    own.recordUnknown(trials.own);
    const isSudden = nowMs - beganMs < SUDDEN_MS && platform.getLastAnswerMs() < beganMs;
    if (refused || isSudden) platform.recordRefusal(trials.platform, WAIT_LIMIT_MS, nowMs);
    else platform.recordUnknown(trials.platform);
  }

  function handleReached(
    { code, refused }: Pick<InvocationEnd, "code" | "refused">,
    trials: Trials,
    beganMs: number,
    nowMs: number,
  ): void {
    // A timeout proves nothing about the platform: the tenant's API server may be the silent one.
    if (code === "TimedOut") platform.recordUnknown(trials.platform);
    else platform.recordAnswer(nowMs);
    const othersRunOrWereAccepted = inFlight > 0 || lastAcceptedMs >= beganMs;
    if (code === undefined || !refused) recordAccepted(nowMs);
    else if (code === "Throttled" && othersRunOrWereAccepted && !trials.own) lowerLevel(nowMs);
    else {
      if (!own.isOpen()) reset();
      own.recordRefusal(trials.own, code === "Denied" ? DENIED_WAIT_LIMIT_MS : WAIT_LIMIT_MS, nowMs);
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
    scarceUntilMs = nowMs + SCARCE_MS;
  }

  return {
    waitMs,
    admitsSlowCluster(nowMs) {
      if (nowMs >= scarceUntilMs) return true;
      return slowInFlight < Math.max(1, level - Math.max(1, Math.floor(level * RESERVED_PART)));
    },
    begin,
    status: () => ({ inFlight, places: level, open: platform.isOpen() || own.isOpen() }),
  };
}

interface Trials {
  readonly platform: boolean;
  readonly own: boolean;
}
