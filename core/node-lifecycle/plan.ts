import type { ObjectCount } from "#core/controller.ts";
import type { Node } from "#core/node/node.ts";
import {
  absenceOf,
  isWorthWriting,
  type Reading,
  rememberedAbsences,
  secondsToProof,
  withMissed,
  withoutFound,
} from "#core/node-lifecycle/absences.ts";
import { brakeOf, isUnderWay, rememberedDeletions } from "#core/node-lifecycle/brake.ts";
import type { Finding } from "#core/node-lifecycle/finding.ts";
import type { FleetHold, FleetStanding, UnprovenDeletion } from "#core/node-lifecycle/fleet-brake.ts";
import {
  type Brake,
  type Deletion,
  type DeletionState,
  INTENT_SECONDS,
  MAX_DELETIONS,
  secondsSince,
} from "#core/node-lifecycle/state.ts";
import type { DeletionSettings } from "#core/settings.ts";

/** A node that is not Ready, and what the cloud's answer means for it. */
export interface Found {
  readonly node: Node;
  readonly finding: Finding;
}

/** What becomes of a node whose instance is gone. */
export type Verdict =
  /** An intent of this very decision is written: it is deleted now. */
  | { readonly kind: "delete" }
  /** Not yet: until then, because of what. */
  | { readonly kind: "wait"; readonly code: WaitCode; readonly afterSeconds: number }
  | { readonly kind: "braked"; readonly brake: Brake }
  /** It would be, were it not for what all clusters share. */
  | { readonly kind: "held"; readonly hold: FleetHold };

/** Why a node whose instance is gone is not deleted yet. */
export type WaitCode =
  | "InstanceMissed"
  | "DeletionIntended"
  | "DeletionsUnderWay"
  | "DeletionStateFull"
  | "NodeCountUnknown";

/** Verdicts by uid, and the state that has to be written before any of them holds; without it they hold. */
export interface DeletionPlan {
  readonly verdicts: ReadonlyMap<string, Verdict>;
  readonly next: DeletionState | undefined;
  /** What the write is for. */
  readonly purpose: string;
  /** Of the deletions that the write announces those that nothing proves. */
  readonly unproven: readonly UnprovenDeletion[];
}

/** What deletion is decided on beside the nodes. */
export interface PlanContext extends Reading {
  readonly settings: DeletionSettings;
  readonly count: ObjectCount;
  readonly fleet: FleetStanding | undefined;
}

/** Plans the deletions of a batch under the state that all who delete in the cluster share. */
export function planDeletions(
  found: readonly Found[],
  state: DeletionState,
  context: PlanContext,
): DeletionPlan {
  const { now } = context;
  const known: DeletionState = {
    ...state,
    absences: withoutFound(state.absences, nodesOf(found, "exists")),
    deletions: rememberedDeletions(state.deletions, now),
  };
  const missed = nodesOf(found, "missed");
  const verdicts = new Map<string, Verdict>();
  const wanted: Found[] = [];
  for (const each of found) {
    const verdict = verdictOf(each, known, context);
    if (verdict === "intend") wanted.push(each);
    else if (verdict !== undefined) verdicts.set(each.node.metadata.uid, verdict);
  }
  const intended = intend(wanted, known, context);
  for (const [uid, verdict] of intended.verdicts) verdicts.set(uid, verdict);
  const isNews = intended.added > 0 || intended.brake !== known.brake || known.absences !== state.absences;
  const isBraked = intended.brake !== undefined;
  if (!isNews && (isBraked || !isWorthWriting(known, missed, context)))
    return { verdicts, next: undefined, purpose: "", unproven: [] };
  const remembered = rememberedAbsences(known.absences, now);
  return {
    verdicts,
    purpose: purposeOf(intended, missed.length),
    unproven: intended.unproven,
    next: {
      ...known,
      written: now.toISOString(),
      // Under the brake no absence leads to anything.
      absences: isBraked ? remembered : withMissed(remembered, missed, context),
      deletions: intended.deletions,
      ...(intended.brake === undefined ? {} : { brake: intended.brake }),
    },
  };
}

/** What holds for a node by itself; undefined where it is not to be deleted at all. */
function verdictOf(
  { node, finding }: Found,
  { absences, deletions, brake }: DeletionState,
  context: PlanContext,
): Verdict | "intend" | undefined {
  if (finding.kind !== "terminated" && finding.kind !== "missed") return undefined;
  const { uid } = node.metadata;
  const deletion = Object.hasOwn(deletions, uid) ? deletions[uid] : undefined;
  const isMine = deletion !== undefined && isOf(deletion, context);
  if (finding.kind === "missed") {
    // Whoever has written that the instance is there has taken the absence away, whatever was intended before.
    if (brake !== undefined && !isMine) return { kind: "braked", brake };
    const { graceSeconds } = context.settings;
    const absence = absenceOf(absences, node, context);
    const left = absence === undefined ? graceSeconds : secondsToProof(absence, graceSeconds, context);
    if (left > 0) return { kind: "wait", code: "InstanceMissed", afterSeconds: left };
  }
  if (isMine) return { kind: "delete" };
  const lives = deletion === undefined ? 0 : INTENT_SECONDS - secondsSince(deletion.at, context.now);
  if (lives > 0 && lives <= 2 * INTENT_SECONDS)
    return { kind: "wait", code: "DeletionIntended", afterSeconds: lives };
  const hold = finding.kind === "missed" ? holdOn(uid, context.fleet) : undefined;
  return hold === undefined ? "intend" : { kind: "held", hold };
}

/** Why one whose end nothing proves is not to be announced; whoever was let before that goes on. */
function holdOn(uid: string, fleet: FleetStanding | undefined): FleetHold | undefined {
  return fleet?.granted.has(uid) ? undefined : fleet?.held;
}

/** Whether the intent was written by this very decision, a moment ago. */
function isOf({ at, clock }: Deletion, reading: Reading): boolean {
  return clock === reading.clock && at === reading.now.toISOString();
}

interface Intended {
  readonly verdicts: ReadonlyMap<string, Verdict>;
  readonly deletions: DeletionState["deletions"];
  readonly added: number;
  readonly unproven: readonly UnprovenDeletion[];
  readonly brake: Brake | undefined;
}

/** Intends to delete as many as there may be; the first that is one too many pulls the brake. */
function intend(wanted: readonly Found[], state: DeletionState, context: PlanContext): Intended {
  const { count, now, clock, settings } = context;
  const verdicts = new Map<string, Verdict>();
  const nothing = { verdicts, deletions: state.deletions, added: 0, unproven: [], brake: state.brake };
  const wait = (each: Found, code: WaitCode, afterSeconds: number): void => {
    verdicts.set(each.node.metadata.uid, { kind: "wait", code, afterSeconds });
  };
  if (count.kind === "unknown" || !(count.count >= 1)) {
    for (const each of wanted) wait(each, "NodeCountUnknown", UNKNOWN_AFTER_SECONDS);
    return nothing;
  }
  // Those that go in any case are first, so that the others see how many nodes they leave.
  const ordered = [...wanted.filter((each) => !isCounted(each)), ...wanted.filter(isCounted)];
  const own = new Set(wanted.map(({ node }) => node.metadata.uid));
  const others = Object.entries(state.deletions).filter(
    ([uid, deletion]) => isUnderWay(deletion, now) && !own.has(uid),
  ).length;
  const nodes = count.count;
  const unproven: UnprovenDeletion[] = [];
  let { deletions } = state;
  let pulled: Omit<Brake, "waiting"> | undefined;
  let added = 0;
  let leaving = 0;
  let waiting = 0;
  for (const each of ordered) {
    const { uid } = each.node.metadata;
    const counted = isCounted(each);
    const deletion = { at: now.toISOString(), clock, nodes, counted };
    const tried = { ...deletions, [uid]: deletion };
    if (Object.keys(tried).length > MAX_DELETIONS) {
      wait(each, "DeletionStateFull", UNKNOWN_AFTER_SECONDS);
      continue;
    }
    if (counted) {
      pulled ??= brakeOf(tried, { now, settings, nodes, leaving });
      if (pulled !== undefined) {
        waiting += 1;
        continue;
      }
      // Whether they have gone by now is not known.
      if (nodes - others - leaving - added <= 1) {
        wait(each, "DeletionsUnderWay", UNKNOWN_AFTER_SECONDS);
        continue;
      }
    } else leaving += 1;
    added += 1;
    if (each.finding.kind === "missed") unproven.push({ uid, counted });
    deletions = tried;
  }
  const brake = pulled === undefined ? state.brake : { ...pulled, waiting };
  return { verdicts, deletions, added, unproven, brake };
}

const UNKNOWN_AFTER_SECONDS = 30;

function purposeOf({ added, brake }: Intended, missed: number): string {
  if (added > 0) return `${added} nodes are to be deleted`;
  return brake === undefined ? `instances of ${missed} nodes are not found` : "the brake is pulled";
}

/** Whether the brake counts the deletion: not where the cloud shows the end of the instance, or the autoscaler has announced it. */
function isCounted({ finding }: Found): boolean {
  return finding.kind === "missed" && !finding.isExpected;
}

function nodesOf(found: readonly Found[], kind: Finding["kind"]): Node[] {
  return found.filter(({ finding }) => finding.kind === kind).map(({ node }) => node);
}
