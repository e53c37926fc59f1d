import type { CloudUse } from "#relay/delivery/gate.ts";

/** Divides the API quotas of one account among its invocations in flight. */
export interface Quota {
  inFlight(): number;
  /** One more is in flight from now on; its share. */
  begin(floorShare: number, nowMs: number): number;
  /** It is over, and gives its share back. */
  end(share: number, floorShare: number, usage: CloudUse | undefined, nowMs: number): void;
  /** Milliseconds between batches for which the quotas last: 0 until calls had to wait for their turn. */
  spacingMs(): number;
}

/** Calls that wait in a function are paid for, so batches wait in its place: this far apart at first … */
const SPACING_BASE_MS = 50;
/** … ever further while calls still wait, up to here … */
const SPACING_LIMIT_MS = 500;
const SPACING_GROWTH = 1.25;
/** … and closer again with each invocation that did not. */
const SPACING_DECAY = 0.97;

/** A throttled account's quotas are lowered, once in this time: one burst is one message … */
const LOWER_EVERY_MS = 1_000;

/**
 * … by so many times the part of an invocation's calls that was throttled, and by half at most. One throttle among many calls is how a
 * quota is found that is fully spent; the function has slowed down for it by itself, and to do so twice leaves most of it unspent.
 */
const LOWER_FOR_PART = 5;
const LOWER_LIMIT = 1 / 2;

/** … and grow back by this much for every second without. */
const GROWTH_PER_SECOND = 0.01;

/** Shares come to so many times the quotas: most invocations call once and leave the rest, and throttling makes them smaller. */
const PROMISED = 2;

/** How fast it is forgotten how many invocations there were at a time: by half in this time. */
const PEAK_HALF_LIFE_MS = 5_000;

/**
 * Equal shares for as many invocations as there lately were at a time, so that a few that come one by one may spend what nobody
 * else does. Additive growth, decrease in proportion, and never below the floor. `part` is what of the account's quotas there is to
 * divide, 0 to 1, asked for at each beginning.
 */
export function createQuota(startMs: number, part: () => number = () => 1): Quota {
  /** What of that part is spent at most, all invocations together. */
  let ceiling = 1;
  let granted = 0;
  let inFlight = 0;
  /** The most that were in flight at a time, forgotten little by little. */
  let peak = 0;
  let spacingMs = 0;
  let changedMs = startMs;
  let loweredMs = Number.NEGATIVE_INFINITY;
  /** The ceiling before it was last lowered. */
  let before = 1;

  function grow(nowMs: number): void {
    const seconds = Math.max(0, nowMs - changedMs) / 1000;
    peak *= 0.5 ** ((seconds * 1000) / PEAK_HALF_LIFE_MS);
    ceiling = Math.min(1, ceiling + seconds * GROWTH_PER_SECOND);
    changedMs = nowMs;
  }

  /** Of several invocations that tell of one burst, the worst counts. */
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
      spacingMs = spacingAfter(spacingMs, usage);
      if (usage.throttled > 0) lower(loweredBy(usage), floorShare, nowMs);
    },
    spacingMs: () => spacingMs,
  };
}

/** What the ceiling loses; a report that names no calls beside its throttles is of these alone. */
function loweredBy({ calls, throttled }: CloudUse): number {
  return Math.min(LOWER_LIMIT, (LOWER_FOR_PART * throttled) / Math.max(calls, throttled));
}

function spacingAfter(spacingMs: number, { throttled, waitedMs }: CloudUse): number {
  if (throttled > 0 || waitedMs > 0)
    return Math.min(SPACING_LIMIT_MS, Math.max(SPACING_BASE_MS, spacingMs * SPACING_GROWTH));
  return spacingMs < SPACING_BASE_MS ? 0 : spacingMs * SPACING_DECAY;
}
