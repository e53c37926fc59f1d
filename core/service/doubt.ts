import { type Claimant, creatingMs, isHeldByAnother, secondsUntilRecheck } from "#core/service/claims.ts";
import { blankMark, type Mark, markOf } from "#core/service/mark.ts";
import type { Service } from "#core/service/service.ts";

/** Whether it may be believed that nothing of a Service's load balancer is there, where the cloud shows nothing any more. */
export type Doubt =
  | { readonly kind: "none" }
  /** What was made last may not be shown yet: it is looked for again. */
  | { readonly kind: "look-again"; readonly afterSeconds: number }
  /** The same, and nobody knows since when: that it is looked for is written down first. */
  | { readonly kind: "unknown-since"; readonly mark: Mark };

/** What the cloud was seen to have, and whether it shows what was made as soon as it is made. */
interface Seen {
  /** The load balancer was seen when the cloud was asked. */
  readonly isShown: boolean;
  readonly showsAtOnce: boolean;
}

/**
 * A cloud shows what it has just made only after a while: "there is none" is believed of what was seen before it was removed, or once
 * nothing can have been made for a while.
 */
export function doubtOf(service: Service, { isShown, showsAtOnce }: Seen, { actor, now }: Claimant): Doubt {
  const mark = markOf(service);
  // Whoever took the annotation away took with it who was at work, and whose requests may still arrive.
  if (mark === undefined) return { kind: "unknown-since", mark: blankMark(service) };
  if (mark.state === "leaving") return since(mark, LOOKED_FOR_SECONDS, now);
  // What another actor has sent may still arrive, whoever has claimed the Service since.
  if (isHeldByAnother(mark, actor) || (secondsUntilRecheck(mark, now) ?? 0) > 0)
    return { kind: "unknown-since", mark };
  if (showsAtOnce) return NONE;
  switch (mark.state) {
    // Somebody was cut short in the middle of it, who may have made more than is seen of it.
    case "applying":
    case "undoing":
      return { kind: "unknown-since", mark };
    case "applied":
    case "refused":
      return isShown ? NONE : since(mark, SHOWN_SECONDS, now);
  }
}

/**
 * Seconds after which to look again for what somebody has lately asked for, where a cloud that is asked twice makes two of it; undefined
 * where nobody has, and it may be asked for.
 */
export function secondsOfMaking(service: Service, now: Date): number | undefined {
  const ms = creatingMs(markOf(service));
  return ms !== undefined && isWithin(ms, SHOWN_SECONDS, now) ? LOOK_AGAIN_SECONDS : undefined;
}

/** By then a cloud shows what was made, although a round was at it for a while when its time was written down. */
const SHOWN_SECONDS = 60;
/** As from when nobody makes anything any more. */
const LOOKED_FOR_SECONDS = 30;
const LOOK_AGAIN_SECONDS = 10;

const NONE: Doubt = { kind: "none" };

function since(mark: Mark, untilSeconds: number, now: Date): Doubt {
  const ms = creatingMs(mark);
  const isYoung =
    isWithin(Date.parse(mark.at), untilSeconds, now) ||
    (ms !== undefined && isWithin(ms, SHOWN_SECONDS, now));
  return isYoung ? { kind: "look-again", afterSeconds: LOOK_AGAIN_SECONDS } : NONE;
}

/** A time from the future is nobody's of ours, and keeps no Service. */
function isWithin(atMs: number, untilSeconds: number, now: Date): boolean {
  const seconds = (now.getTime() - atMs) / 1_000;
  return seconds >= -untilSeconds && seconds < untilSeconds;
}
