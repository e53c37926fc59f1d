import { ABANDONED } from "#delivery/invoker.ts";
import { type Breaker, createBreaker } from "#relay/delivery/breaker.ts";
import type { InvocationEnd } from "#relay/delivery/gate.ts";

/** A place for one invocation; it is free again after one of the two, which is called once. */
export interface FunctionPlace {
  leave(nowMs: number): void;
  ended(end: Pick<InvocationEnd, "code" | "refused">, nowMs: number): void;
}

/** How many invocations of one function may be in flight, as the platform's refusals teach it. */
export interface FunctionGate {
  /** Milliseconds until there may be a place: 0 is now, undefined is not before something comes back. */
  waitMs(nowMs: number): number | undefined;
  /** Whether, beside those, there is one for a cluster that is slow: of places that are known to be few, such clusters leave some. */
  isForSlow(nowMs: number): boolean;
  /** Takes a place that there is. */
  begin(isSlow: boolean, nowMs: number): FunctionPlace;
  status(): FunctionGateStatus;
}

/** How a function's gate stands. */
export interface FunctionGateStatus {
  readonly inFlight: number;
  /** How many may be. */
  readonly places: number;
  /** Whether nothing goes but one on trial now and then. */
  readonly open: boolean;
}

/** Most refusals are back within this time: a level that has stood full for so long holds, and the next step is tried. */
const STEP_MS = 25;

/** A step goes this part beyond what holds; what it overshoots is refused. */
const STEP_PART = 1 / 4;

/** For every refusal so many invocations have to be taken before more are tried again: about 5 % are refused … */
const TAKEN_FOR_REFUSED = 20;

/** … or this long has to pass, as a limit may be lifted while little is sent. */
const HOLD_MS = 30_000;

/** So long after a refusal places are few: clusters that are slow leave this part of them, and one at least, to the others. */
const FEW_MS = 600_000;
const PART_FOR_QUICK = 1 / 4;

/**
 * An answer lost sooner than this, while none arrives, is the platform's trouble. One that is lost later may be the invocation's:
 * there are gateways that do not wait for what is slow, and a tenant can make it slow.
 */
const SUDDEN_MS = 3_000;

/** The longest wait of a closed gate: one invocation in some seconds for all clusters together is no load … */
const WAIT_LIMIT_MS = 5_000;

/** … and where only somebody's action mends it. */
const DENIED_WAIT_LIMIT_MS = 30_000;

/**
 * Opens with one invocation in flight, and lets more in, step by step, as long as none is refused. A refusal beside others that
 * are taken tells what the platform takes: so many, and no more for a while. Any other refusal is waited out: by the function's own
 * breaker where it concerns the function, by the platform's, which all functions share, where nothing can be reached. What became
 * of an invocation that was taken, however long it took, stops nobody. `random` is uniform in [0, 1).
 */
export function createFunctionGate(platform: Breaker, random: () => number): FunctionGate {
  const own = createBreaker(random);
  let openings = platform.openings();
  let inFlight = 0;
  let slowInFlight = 0;
  /** So many at a time are known to be taken, or are being tried. */
  let level = 1;
  /** Since when the level is tried: since so many were first in flight; undefined where they never were. */
  let triedMs: number | undefined;
  /** Invocations that have to be taken before the level rises again, until `holdUntilMs` at the latest. */
  let owed = 0;
  let holdUntilMs = Number.NEGATIVE_INFINITY;
  let fewUntilMs = Number.NEGATIVE_INFINITY;
  /** When one was last taken. */
  let takenMs = Number.NEGATIVE_INFINITY;

  /** What was away begins anew, with few at a time. */
  function reset(): void {
    level = 1;
    triedMs = undefined;
    owed = 0;
  }

  function follow(): void {
    if (openings === platform.openings()) return;
    openings = platform.openings();
    reset();
  }

  function waitMs(nowMs: number): number | undefined {
    follow();
    const closedMs = Math.max(platform.waitMs(nowMs), own.waitMs(nowMs));
    if (closedMs > 0) return closedMs;
    if (platform.isOpen() || own.isOpen() || inFlight < level) return 0;
    const heldMs = owed > 0 ? holdUntilMs - nowMs : 0;
    return Math.max(0, heldMs, (triedMs ?? nowMs) + STEP_MS - nowMs);
  }

  function begin(isSlow: boolean, nowMs: number): FunctionPlace {
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
      platform.left(onTrial.platform);
      own.left(onTrial.own);
    };
    return {
      leave() {
        free();
        learnNothing();
      },
      ended(end, endedMs) {
        free();
        if (end.code === ABANDONED) learnNothing();
        else if (end.code === "Unreachable") unreachable(end.refused, onTrial, nowMs, endedMs);
        else reached(end, onTrial, nowMs, endedMs);
      },
    };
  }

  function unreachable(refused: boolean, onTrial: OnTrial, beganMs: number, nowMs: number): void {
    own.left(onTrial.own);
    const isSudden = nowMs - beganMs < SUDDEN_MS && platform.answeredMs() < beganMs;
    if (refused || isSudden) platform.refused(onTrial.platform, WAIT_LIMIT_MS, nowMs);
    else platform.left(onTrial.platform);
  }

  function reached(
    { code, refused }: Pick<InvocationEnd, "code" | "refused">,
    onTrial: OnTrial,
    beganMs: number,
    nowMs: number,
  ): void {
    // Silence is no sign of life; it may be the tenant's API server that is silent.
    if (code === "TimedOut") platform.left(onTrial.platform);
    else platform.answered(nowMs);
    const isBesideOthers = inFlight > 0 || takenMs >= beganMs;
    if (code === undefined || !refused) taken(nowMs);
    else if (code === "Throttled" && isBesideOthers && !onTrial.own) tooMany(nowMs);
    else {
      if (!own.isOpen()) reset();
      own.refused(onTrial.own, code === "Denied" ? DENIED_WAIT_LIMIT_MS : WAIT_LIMIT_MS, nowMs);
    }
  }

  function taken(nowMs: number): void {
    owed = Math.max(0, owed - 1);
    takenMs = nowMs;
    own.answered(nowMs);
  }

  function tooMany(nowMs: number): void {
    level = Math.max(1, Math.min(level, inFlight));
    owed += TAKEN_FOR_REFUSED;
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

interface OnTrial {
  readonly platform: boolean;
  readonly own: boolean;
}
