import type { Node } from "#core/node/node.ts";
import { getNotReadySince } from "#core/node-lifecycle/needs-work.ts";
import {
  type Absence,
  CLOCK_SECONDS,
  type DeletionState,
  getSecondsSince,
  MAX_ABSENCES,
} from "#core/node-lifecycle/state.ts";

/** An absence expires after this time without a confirmation. */
const FORGOTTEN_SECONDS = 300;

/** A continuing absence is written again at this interval, so that it does not expire. */
const CONFIRMED_SECONDS = 60;

/** The minimum time between two writes of the state for absences. */
const WRITTEN_SECONDS = 15;

/** A time, with the process whose clock showed it. */
export interface ClockReading {
  readonly now: Date;
  readonly clock: string;
}

type Absences = DeletionState["absences"];

/**
 * Returns the absence of a node that is valid now. It is undefined if it has expired, lies in the future, or
 * is older than the node's last Ready state.
 */
export function findAbsence(absences: Absences, node: Node, { now }: ClockReading): Absence | undefined {
  const { uid } = node.metadata;
  const absence = Object.hasOwn(absences, uid) ? absences[uid] : undefined;
  if (absence === undefined || !isRemembered(absence, now)) return undefined;
  const since = getNotReadySince(node, now);
  return since === undefined || Date.parse(absence.first) >= since ? absence : undefined;
}

/**
 * Returns the seconds until a second "not found" proves that the instance is gone; 0 if the current one does.
 * The clock of another process may be behind.
 */
export function getSecondsToProof(
  { first, clock }: Absence,
  graceSeconds: number,
  reading: ClockReading,
): number {
  const allowance = clock === reading.clock ? 0 : CLOCK_SECONDS;
  return Math.max(0, graceSeconds + allowance - getSecondsSince(first, reading.now));
}

/** Returns the absences that still matter. */
export function pruneAbsences(absences: Absences, now: Date): Absences {
  return Object.fromEntries(Object.entries(absences).filter(([, absence]) => isRemembered(absence, now)));
}

/** Returns the absences without those of nodes whose instance exists. */
export function removeFound(absences: Absences, found: readonly Node[]): Absences {
  const uids = new Set(found.map(({ metadata: { uid } }) => uid));
  if (!Object.keys(absences).some((uid) => uids.has(uid))) return absences;
  return Object.fromEntries(Object.entries(absences).filter(([uid]) => !uids.has(uid)));
}

/** Returns the absences with those of nodes whose instance is missing, up to the maximum. */
export function withMissed(absences: Absences, missed: readonly Node[], reading: ClockReading): Absences {
  const at = reading.now.toISOString();
  const next = { ...absences };
  for (const node of missed) {
    const { uid } = node.metadata;
    const absence = findAbsence(absences, node, reading);
    if (!Object.hasOwn(next, uid) && Object.keys(next).length >= MAX_ABSENCES) continue;
    next[uid] =
      absence === undefined ? { first: at, last: at, clock: reading.clock } : { ...absence, last: at };
  }
  return next;
}

/** Returns whether these nodes justify a write of their own, and one is due. */
export function isWorthWriting(
  { absences, written }: DeletionState,
  missed: readonly Node[],
  reading: ClockReading,
): boolean {
  if (written !== undefined && Math.abs(getSecondsSince(written, reading.now)) < WRITTEN_SECONDS)
    return false;
  const isFull = Object.keys(pruneAbsences(absences, reading.now)).length >= MAX_ABSENCES;
  return missed.some((node) => {
    const absence = findAbsence(absences, node, reading);
    if (absence === undefined) return !isFull || Object.hasOwn(absences, node.metadata.uid);
    return getSecondsSince(absence.last, reading.now) >= CONFIRMED_SECONDS;
  });
}

function isRemembered({ first, last }: Absence, now: Date): boolean {
  return (
    getSecondsSince(last, now) <= FORGOTTEN_SECONDS &&
    [first, last].every((moment) => getSecondsSince(moment, now) >= -CLOCK_SECONDS)
  );
}
