import type { Node } from "#core/node/node.ts";
import { notReadySince } from "#core/node-lifecycle/monitor.ts";
import {
  type Absence,
  CLOCK_SECONDS,
  type DeletionState,
  MAX_ABSENCES,
  secondsSince,
} from "#core/node-lifecycle/state.ts";

/** An absence that nobody has confirmed for so long is none. */
const FORGOTTEN_SECONDS = 300;

/** An absence that goes on is written again so often, so that it is not forgotten. */
const CONFIRMED_SECONDS = 60;

/** The state is written so often at most for absences. */
const WRITTEN_SECONDS = 15;

/** By whose clock it is what time. */
export interface Reading {
  readonly now: Date;
  readonly clock: string;
}

type Absences = DeletionState["absences"];

/** The absence of a node that holds now: none where it is forgotten, of the future, or from before the node was last Ready. */
export function absenceOf(absences: Absences, node: Node, { now }: Reading): Absence | undefined {
  const { uid } = node.metadata;
  const absence = Object.hasOwn(absences, uid) ? absences[uid] : undefined;
  if (absence === undefined || !isRemembered(absence, now)) return undefined;
  const since = notReadySince(node, now);
  return since === undefined || Date.parse(absence.first) >= since ? absence : undefined;
}

/**
 * Seconds until a second "not found" proves that the instance is gone: 0 where this one does. What another process wrote may be
 * of a clock that is behind.
 */
export function secondsToProof({ first, clock }: Absence, graceSeconds: number, reading: Reading): number {
  const allowance = clock === reading.clock ? 0 : CLOCK_SECONDS;
  return Math.max(0, graceSeconds + allowance - secondsSince(first, reading.now));
}

/** What of the absences is still of use. */
export function rememberedAbsences(absences: Absences, now: Date): Absences {
  return Object.fromEntries(Object.entries(absences).filter(([, absence]) => isRemembered(absence, now)));
}

/** The absences without those of nodes whose instance is there. */
export function withoutFound(absences: Absences, found: readonly Node[]): Absences {
  const uids = new Set(found.map(({ metadata: { uid } }) => uid));
  if (!Object.keys(absences).some((uid) => uids.has(uid))) return absences;
  return Object.fromEntries(Object.entries(absences).filter(([uid]) => !uids.has(uid)));
}

/** The absences with those of nodes whose instance is not there, as far as there is room. */
export function withMissed(absences: Absences, missed: readonly Node[], reading: Reading): Absences {
  const at = reading.now.toISOString();
  const next = { ...absences };
  for (const node of missed) {
    const { uid } = node.metadata;
    const known = absenceOf(absences, node, reading);
    if (!Object.hasOwn(next, uid) && Object.keys(next).length >= MAX_ABSENCES) continue;
    next[uid] = known === undefined ? { first: at, last: at, clock: reading.clock } : { ...known, last: at };
  }
  return next;
}

/** Whether there is something about these nodes that is worth a write of its own, and it is time for one. */
export function isWorthWriting(
  { absences, written }: DeletionState,
  missed: readonly Node[],
  reading: Reading,
): boolean {
  if (written !== undefined && Math.abs(secondsSince(written, reading.now)) < WRITTEN_SECONDS) return false;
  const isFull = Object.keys(rememberedAbsences(absences, reading.now)).length >= MAX_ABSENCES;
  return missed.some((node) => {
    const known = absenceOf(absences, node, reading);
    if (known === undefined) return !isFull || Object.hasOwn(absences, node.metadata.uid);
    return secondsSince(known.last, reading.now) >= CONFIRMED_SECONDS;
  });
}

function isRemembered({ first, last }: Absence, now: Date): boolean {
  return (
    secondsSince(last, now) <= FORGOTTEN_SECONDS &&
    [first, last].every((moment) => secondsSince(moment, now) >= -CLOCK_SECONDS)
  );
}
