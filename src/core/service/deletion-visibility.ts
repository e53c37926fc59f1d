import {
  type Claimant,
  getCreationClaimTime,
  getSecondsUntilRecheck,
  isHeldByAnother,
} from "#core/service/claims.ts";
import type { Service } from "#core/service/service.ts";
import {
  createStateAnnotation,
  parseStateAnnotation,
  type StateAnnotation,
} from "#core/service/state-annotation.ts";

/** The result of a check whether "not found" proves that the load balancer of a Service no longer exists. */
export type DeletionVisibility =
  | { readonly kind: "none" }
  /** A recently created resource may not be visible yet: check again later. */
  | { readonly kind: "look-again"; readonly afterSeconds: number }
  /** A recently created resource may exist, and the start of the wait is unknown: record the start first. */
  | { readonly kind: "unknown-since"; readonly annotation: StateAnnotation };

/** What the cloud showed, and whether it shows new resources immediately. */
interface ObservedLoadBalancer {
  /** The load balancer was visible in the cloud's answer. */
  readonly isVisible: boolean;
  readonly isImmediatelyVisible: boolean;
}

/**
 * Checks whether "not found" proves that a load balancer is gone, because clouds show new resources with a
 * delay. It is a proof if the load balancer was visible before its removal, or if enough time has passed
 * since the last possible creation.
 */
export function checkDeletionVisibility(
  service: Service,
  { isVisible, isImmediatelyVisible }: ObservedLoadBalancer,
  { actor, now }: Claimant,
): DeletionVisibility {
  const annotation = parseStateAnnotation(service);
  // A removed annotation no longer tells which actor was at work; its requests may still arrive.
  if (annotation === undefined) return { kind: "unknown-since", annotation: createStateAnnotation(service) };
  if (annotation.state === "leaving") return getVisibilityAfter(annotation, CHECK_WINDOW_SECONDS, now);
  // Requests of another actor may still arrive, also after a take-over.
  if (isHeldByAnother(annotation, actor) || (getSecondsUntilRecheck(annotation, now) ?? 0) > 0)
    return { kind: "unknown-since", annotation: annotation };
  if (isImmediatelyVisible) return NONE;
  switch (annotation.state) {
    // An interrupted actor may have created more than is visible.
    case "applying":
    case "undoing":
      return { kind: "unknown-since", annotation: annotation };
    case "applied":
    case "refused":
      return isVisible ? NONE : getVisibilityAfter(annotation, VISIBILITY_SECONDS, now);
  }
}

/**
 * Returns the seconds until the next check for a recent creation, on clouds where a repeated request creates
 * a duplicate. Undefined when nothing was requested recently and creation may start.
 */
export function getCreationRecheckSeconds(service: Service, now: Date): number | undefined {
  const ms = getCreationClaimTime(parseStateAnnotation(service));
  return ms !== undefined && isWithin(ms, VISIBILITY_SECONDS, now) ? RECHECK_SECONDS : undefined;
}

/**
 * Within these seconds a cloud shows what was created, although the round may have started some time before
 * the recorded time.
 */
const VISIBILITY_SECONDS = 60;
/** Counted from the time after which no actor creates anything. */
const CHECK_WINDOW_SECONDS = 30;
const RECHECK_SECONDS = 10;

const NONE: DeletionVisibility = { kind: "none" };

function getVisibilityAfter(
  annotation: StateAnnotation,
  untilSeconds: number,
  now: Date,
): DeletionVisibility {
  const ms = getCreationClaimTime(annotation);
  const isYoung =
    isWithin(Date.parse(annotation.at), untilSeconds, now) ||
    (ms !== undefined && isWithin(ms, VISIBILITY_SECONDS, now));
  return isYoung ? { kind: "look-again", afterSeconds: RECHECK_SECONDS } : NONE;
}

/** A time in the future was not written by us, and must not keep a Service. */
function isWithin(atMs: number, untilSeconds: number, now: Date): boolean {
  const seconds = (now.getTime() - atMs) / 1_000;
  return seconds >= -untilSeconds && seconds < untilSeconds;
}
