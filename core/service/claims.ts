import type { Mark } from "#core/service/mark.ts";

/**
 * The claim of an actor on a Service: while it stands in our annotation, nobody else has the cloud changed without taking it over. It is the
 * annotation's member `making`, a time whose digits after the milliseconds name the actor: to a version that does not know claims it is a time.
 */
interface Claim {
  /** When it was made, or when it was last taken over. */
  readonly atMs: number;
  /** Nine digits; `NOBODY` once its requests are answered, undefined of a version that knows no actors. */
  readonly actor: string | undefined;
  /** Something was asked for that a cloud that is asked twice makes twice. */
  readonly isCreating: boolean;
  /** It was taken over: requests of the actor before may still arrive. */
  readonly isTakenOver: boolean;
}

/** An actor without a name of its own, such as a decision that nobody carries out. */
export const UNNAMED_ACTOR = "000000001";
const NOBODY = "000000000";

/** A request that was sent arrives by then, or never. */
const ARRIVED_SECONDS = 45;

/** The parts of a mark that tell who works on the Service. */
export type Claimed = Pick<Mark, "state" | "making">;

/** What a claim depends on beside the mark. */
export interface Claimant {
  readonly actor: string;
  readonly now: Date;
}

/** Whether somebody else's requests may still be on their way. */
export function isHeldByAnother(mark: Claimed | undefined, actor: string): boolean {
  if (mark === undefined) return false;
  const claim = readClaim(mark.making);
  // A version that knows no actors says no more than that something is under way.
  if (claim?.actor === undefined) return mark.state === "applying";
  return claim.actor !== NOBODY && claim.actor !== actor;
}

/** Whether another actor has claimed the Service so lately that it is most likely at work. */
export function isLatelyHeldByAnother(mark: Claimed | undefined, { actor, now }: Claimant): boolean {
  const claim = readClaim(mark?.making);
  if (claim?.actor === undefined || claim.actor === NOBODY || claim.actor === actor) return false;
  return Math.abs(now.getTime() - claim.atMs) < 2 * ARRIVED_SECONDS * 1_000;
}

/** When the claim in a mark was made, in milliseconds; undefined without one. */
export function claimedMs(mark: Claimed): number | undefined {
  return readClaim(mark.making)?.atMs;
}

/** The same, of a claim under which something was created. */
export function creatingMs(mark: Claimed | undefined): number | undefined {
  const claim = readClaim(mark?.making);
  return claim?.isCreating === true ? claim.atMs : undefined;
}

/**
 * Seconds after which the cloud is observed once more because a claim was taken over; 0 where it is time, undefined where nobody has taken
 * one over.
 */
export function secondsUntilRecheck(mark: Claimed | undefined, now: Date): number | undefined {
  const claim = readClaim(mark?.making);
  if (claim?.isTakenOver !== true) return undefined;
  const seconds = (now.getTime() - claim.atMs) / 1_000;
  // A time far ahead is of a clock that is wrong.
  return Math.abs(seconds) >= ARRIVED_SECONDS ? 0 : Math.ceil(ARRIVED_SECONDS - seconds);
}

/** The claim of this actor in place of what stands in a mark. */
export function takeClaim(
  mark: Claimed | undefined,
  { actor, now }: Claimant,
  isCreating: boolean,
): NonNullable<Mark["making"]> {
  const before = readClaim(mark?.making);
  const isOwn = before?.actor === actor;
  const isTaken = !isOwn && isHeldByAnother(mark, actor);
  const isStillTaken = isOwn ? before.isTakenOver : (secondsUntilRecheck(mark, now) ?? 0) > 0;
  const isKept = before !== undefined && !isCreating && !isTaken && (isOwn || isStillTaken);
  return writeClaim({
    atMs: isKept ? before.atMs : now.getTime(),
    actor,
    isCreating: isCreating || before?.isCreating === true,
    isTakenOver: isTaken || isStillTaken,
  });
}

/** The claim in a mark once this actor waits and none of its requests is on its way; another's stays. */
export function restClaim(mark: Claimed | undefined, { actor, now }: Claimant): Mark["making"] {
  if (mark !== undefined && isHeldByAnother(mark, actor)) return mark.making;
  const { atMs = now.getTime(), isCreating = false, isTakenOver = false } = readClaim(mark?.making) ?? {};
  return writeClaim({ atMs, actor: NOBODY, isCreating, isTakenOver });
}

/** What is left of the claim in a mark once all is applied: that the cloud is observed once more, where it was taken over. */
export function endClaim(mark: Claimed | undefined, { actor, now }: Claimant): Mark["making"] {
  const claim = readClaim(mark?.making);
  const isTaken = isHeldByAnother(mark, actor);
  if (!isTaken && (secondsUntilRecheck(mark, now) ?? 0) === 0) return undefined;
  const atMs = isTaken || claim === undefined ? now.getTime() : claim.atMs;
  return writeClaim({ atMs, actor: NOBODY, isCreating: false, isTakenOver: true });
}

/** Milliseconds, the actor and what is said of the claim. */
const FRACTION = /\.(\d{3})(\d{9})([0-3])Z$/;

function readClaim(making: Mark["making"]): Claim | undefined {
  if (making === undefined) return undefined;
  // Of more digits than three some engines read others than the first three.
  const atMs = Date.parse(making.replace(FRACTION, ".$1Z"));
  const [, , actor, said] = FRACTION.exec(making) ?? [];
  if (actor === undefined) return { atMs, actor: undefined, isCreating: true, isTakenOver: false };
  return { atMs, actor, isCreating: said === "1" || said === "3", isTakenOver: said === "2" || said === "3" };
}

function writeClaim({ atMs, actor, isCreating, isTakenOver }: Claim & { readonly actor: string }): string {
  const said = (isCreating ? 1 : 0) + (isTakenOver ? 2 : 0);
  return `${new Date(atMs).toISOString().slice(0, -1)}${actor}${said}Z`;
}
