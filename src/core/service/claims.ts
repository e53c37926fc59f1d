import type { StateAnnotation } from "#core/service/state-annotation.ts";

/**
 * An actor's claim on a Service. While the state annotation holds a claim, other actors change the cloud only
 * after taking it over. It is the annotation's member `making`: a time whose digits after the milliseconds
 * name the actor. Versions that do not know claims read it as a plain time.
 */
interface Claim {
  /** When the claim was made or last taken over, in milliseconds. */
  readonly atMs: number;
  /**
   * Nine digits. `NO_ACTOR` after all requests of the actor were answered; undefined when a version without
   * actors wrote it.
   */
  readonly actor: string | undefined;
  /** The actor sent a request that creates a duplicate when repeated. */
  readonly isCreating: boolean;
  /** The claim was taken over: requests of the previous actor may still arrive. */
  readonly isTakenOver: boolean;
}

/** The actor of a decision that is not carried out. */
export const UNNAMED_ACTOR = "000000001";
const NO_ACTOR = "000000000";

/** A request that was sent arrives within these seconds, or never. */
const ARRIVED_SECONDS = 45;

/** The fields of a state annotation that say who works on the Service. */
export type ClaimFields = Pick<StateAnnotation, "state" | "making">;

/** The actor and the time, on which a claim depends in addition to the annotation. */
export interface Claimant {
  readonly actor: string;
  readonly now: Date;
}

/** Returns whether requests of another actor may still arrive. */
export function isHeldByAnother(annotation: ClaimFields | undefined, actor: string): boolean {
  if (annotation === undefined) return false;
  const claim = readClaim(annotation.making);
  // A version without actors records only that work is in progress.
  if (claim?.actor === undefined) return annotation.state === "applying";
  return claim.actor !== NO_ACTOR && claim.actor !== actor;
}

/**
 * Returns whether another actor claimed the Service recently and is therefore most likely still working on
 * it.
 */
export function isLatelyHeldByAnother(
  annotation: ClaimFields | undefined,
  { actor, now }: Claimant,
): boolean {
  const claim = readClaim(annotation?.making);
  if (claim?.actor === undefined || claim.actor === NO_ACTOR || claim.actor === actor) return false;
  return Math.abs(now.getTime() - claim.atMs) < 2 * ARRIVED_SECONDS * 1_000;
}

/** Returns when the claim in an annotation was made, in milliseconds; undefined without a claim. */
export function getClaimTime(annotation: ClaimFields): number | undefined {
  return readClaim(annotation.making)?.atMs;
}

/**
 * Returns when a claim was made under which something was created, in milliseconds; undefined without such a
 * claim.
 */
export function getCreationClaimTime(annotation: ClaimFields | undefined): number | undefined {
  const claim = readClaim(annotation?.making);
  return claim?.isCreating === true ? claim.atMs : undefined;
}

/**
 * Returns the seconds until the cloud is observed once more after a take-over. 0 when that is due; undefined
 * without a take-over.
 */
export function getSecondsUntilRecheck(annotation: ClaimFields | undefined, now: Date): number | undefined {
  const claim = readClaim(annotation?.making);
  if (claim?.isTakenOver !== true) return undefined;
  const seconds = (now.getTime() - claim.atMs) / 1_000;
  // A time far in the future comes from a wrong clock.
  return Math.abs(seconds) >= ARRIVED_SECONDS ? 0 : Math.ceil(ARRIVED_SECONDS - seconds);
}

/** Returns this actor's claim, which replaces the one in the annotation. */
export function takeClaim(
  annotation: ClaimFields | undefined,
  { actor, now }: Claimant,
  isCreating: boolean,
): NonNullable<StateAnnotation["making"]> {
  const previous = readClaim(annotation?.making);
  const isOwn = previous?.actor === actor;
  const isTaken = !isOwn && isHeldByAnother(annotation, actor);
  const isStillTaken = isOwn ? previous.isTakenOver : (getSecondsUntilRecheck(annotation, now) ?? 0) > 0;
  const isKept = previous !== undefined && !isCreating && !isTaken && (isOwn || isStillTaken);
  return writeClaim({
    atMs: isKept ? previous.atMs : now.getTime(),
    actor,
    isCreating: isCreating || previous?.isCreating === true,
    isTakenOver: isTaken || isStillTaken,
  });
}

/**
 * Returns the claim for an actor that waits and has no request in flight. The claim of another actor stays
 * unchanged.
 */
export function markClaimIdle(
  annotation: ClaimFields | undefined,
  { actor, now }: Claimant,
): StateAnnotation["making"] {
  if (annotation !== undefined && isHeldByAnother(annotation, actor)) return annotation.making;
  const {
    atMs = now.getTime(),
    isCreating = false,
    isTakenOver = false,
  } = readClaim(annotation?.making) ?? {};
  return writeClaim({ atMs, actor: NO_ACTOR, isCreating, isTakenOver });
}

/**
 * Returns the rest of a claim after all is applied. After a take-over, it requests one more observation of
 * the cloud.
 */
export function endClaim(
  annotation: ClaimFields | undefined,
  { actor, now }: Claimant,
): StateAnnotation["making"] {
  const claim = readClaim(annotation?.making);
  const isTaken = isHeldByAnother(annotation, actor);
  if (!isTaken && (getSecondsUntilRecheck(annotation, now) ?? 0) === 0) return undefined;
  const atMs = isTaken || claim === undefined ? now.getTime() : claim.atMs;
  return writeClaim({ atMs, actor: NO_ACTOR, isCreating: false, isTakenOver: true });
}

/** Milliseconds, the actor, and the flags of the claim. */
const FRACTION = /\.(\d{3})(\d{9})([0-3])Z$/;

function readClaim(making: StateAnnotation["making"]): Claim | undefined {
  if (making === undefined) return undefined;
  // Some engines misread fractions of more than three digits.
  const atMs = Date.parse(making.replace(FRACTION, ".$1Z"));
  const [, , actor, flags] = FRACTION.exec(making) ?? [];
  if (actor === undefined) return { atMs, actor: undefined, isCreating: true, isTakenOver: false };
  return {
    atMs,
    actor,
    isCreating: flags === "1" || flags === "3",
    isTakenOver: flags === "2" || flags === "3",
  };
}

function writeClaim({ atMs, actor, isCreating, isTakenOver }: Claim & { readonly actor: string }): string {
  const flags = (isCreating ? 1 : 0) + (isTakenOver ? 2 : 0);
  return `${new Date(atMs).toISOString().slice(0, -1)}${actor}${flags}Z`;
}
