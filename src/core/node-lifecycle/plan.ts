import type { ObjectCount } from "#core/controller.ts";
import type { Node } from "#core/node/node.ts";
import type { DeletionSettings } from "#core/node/settings.ts";
import {
  type ClockReading,
  findAbsence,
  getSecondsToProof,
  isWorthWriting,
  pruneAbsences,
  removeFound,
  withMissed,
} from "#core/node-lifecycle/absences.ts";
import { checkBrake, isUnderWay, pruneDeletions } from "#core/node-lifecycle/brake.ts";
import type { NodeClassification } from "#core/node-lifecycle/classification.ts";
import type { FleetBrakeState, FleetHold, UnprovenDeletion } from "#core/node-lifecycle/fleet-record.ts";
import {
  type Brake,
  type Deletion,
  type DeletionState,
  getSecondsSince,
  INTENT_SECONDS,
  MAX_DELETIONS,
} from "#core/node-lifecycle/state.ts";

/** A node that is not Ready, with the meaning of the cloud's answer. */
export interface ClassifiedNode {
  readonly node: Node;
  readonly finding: NodeClassification;
}

/** The decision on a node whose instance is gone. */
export type DeletionDecision =
  /** The intent of this decision is written: delete the node now. */
  | { readonly kind: "delete" }
  /** Not yet: the reason, and the delay. */
  | { readonly kind: "wait"; readonly code: WaitCode; readonly afterSeconds: number }
  | { readonly kind: "braked"; readonly brake: Brake }
  /** The cluster allows it, and the fleet brake holds it. */
  | { readonly kind: "held"; readonly hold: FleetHold };

/** Why a node whose instance is gone is not deleted yet. */
export type WaitCode =
  | "InstanceMissed"
  | "DeletionIntended"
  | "DeletionsUnderWay"
  | "DeletionStateFull"
  | "NodeCountUnknown";

/**
 * The decisions by uid, and the state that must be written before they apply; without a state they apply at
 * once.
 */
export interface DeletionPlan {
  readonly verdicts: ReadonlyMap<string, DeletionDecision>;
  readonly next: DeletionState | undefined;
  /** The purpose of the write. */
  readonly purpose: string;
  /** The unproven ones among the deletions that the write announces. */
  readonly unproven: readonly UnprovenDeletion[];
}

/** The facts on which deletions are decided, in addition to the nodes. */
export interface PlanContext extends ClockReading {
  readonly settings: DeletionSettings;
  readonly count: ObjectCount;
  readonly fleet: FleetBrakeState | undefined;
}

/** Plans the deletions of a batch under the state that all deleting actors of the cluster share. */
export function planDeletions(
  found: readonly ClassifiedNode[],
  state: DeletionState,
  context: PlanContext,
): DeletionPlan {
  const { now } = context;
  const pruned: DeletionState = {
    ...state,
    absences: removeFound(state.absences, selectNodes(found, "exists")),
    deletions: pruneDeletions(state.deletions, now),
  };
  const missed = selectNodes(found, "missed");
  const verdicts = new Map<string, DeletionDecision>();
  const deletable: ClassifiedNode[] = [];
  for (const each of found) {
    const verdict = judgeNode(each, pruned, context);
    if (verdict === "intend") deletable.push(each);
    else if (verdict !== undefined) verdicts.set(each.node.metadata.uid, verdict);
  }
  const intended = planIntents(deletable, pruned, context);
  for (const [uid, verdict] of intended.verdicts) verdicts.set(uid, verdict);
  const isNews = intended.added > 0 || intended.brake !== pruned.brake || pruned.absences !== state.absences;
  const isBraked = intended.brake !== undefined;
  if (!isNews && (isBraked || !isWorthWriting(pruned, missed, context)))
    return { verdicts, next: undefined, purpose: "", unproven: [] };
  const remembered = pruneAbsences(pruned.absences, now);
  return {
    verdicts,
    purpose: describePurpose(intended, missed.length),
    unproven: intended.unproven,
    next: {
      ...pruned,
      written: now.toISOString(),
      // While the brake is engaged, absences have no effect.
      absences: isBraked ? remembered : withMissed(remembered, missed, context),
      deletions: intended.deletions,
      ...(intended.brake === undefined ? {} : { brake: intended.brake }),
    },
  };
}

/** The decision on a node by itself; undefined if it will not be deleted. */
function judgeNode(
  { node, finding }: ClassifiedNode,
  { absences, deletions, brake }: DeletionState,
  context: PlanContext,
): DeletionDecision | "intend" | undefined {
  if (finding.kind !== "terminated" && finding.kind !== "missed") return undefined;
  const { uid } = node.metadata;
  const deletion = Object.hasOwn(deletions, uid) ? deletions[uid] : undefined;
  const isMine = deletion !== undefined && isOwnIntent(deletion, context);
  if (finding.kind === "missed") {
    // Another actor that found the instance has removed the absence, whatever was intended before.
    if (brake !== undefined && !isMine) return { kind: "braked", brake };
    const { graceSeconds } = context.settings;
    const absence = findAbsence(absences, node, context);
    const remainingSeconds =
      absence === undefined ? graceSeconds : getSecondsToProof(absence, graceSeconds, context);
    if (remainingSeconds > 0) return { kind: "wait", code: "InstanceMissed", afterSeconds: remainingSeconds };
  }
  if (isMine) return { kind: "delete" };
  const intentSeconds =
    deletion === undefined ? 0 : INTENT_SECONDS - getSecondsSince(deletion.at, context.now);
  if (intentSeconds > 0 && intentSeconds <= 2 * INTENT_SECONDS)
    return { kind: "wait", code: "DeletionIntended", afterSeconds: intentSeconds };
  const hold = finding.kind === "missed" ? findHold(uid, context.fleet) : undefined;
  return hold === undefined ? "intend" : { kind: "held", hold };
}

/** Why an unproven deletion must not be announced; undefined if the fleet brake allowed it earlier. */
function findHold(uid: string, fleet: FleetBrakeState | undefined): FleetHold | undefined {
  return fleet?.granted.has(uid) ? undefined : fleet?.held;
}

/** Whether this very decision wrote the intent a moment ago. */
function isOwnIntent({ at, clock }: Deletion, reading: ClockReading): boolean {
  return clock === reading.clock && at === reading.now.toISOString();
}

interface IntentPlan {
  readonly verdicts: ReadonlyMap<string, DeletionDecision>;
  readonly deletions: DeletionState["deletions"];
  readonly added: number;
  readonly unproven: readonly UnprovenDeletion[];
  readonly brake: Brake | undefined;
}

/** Announces as many deletions as the limits permit; the first one beyond engages the brake. */
function planIntents(
  deletable: readonly ClassifiedNode[],
  state: DeletionState,
  context: PlanContext,
): IntentPlan {
  const { count, now, clock, settings } = context;
  const verdicts = new Map<string, DeletionDecision>();
  const unchanged = { verdicts, deletions: state.deletions, added: 0, unproven: [], brake: state.brake };
  const wait = (each: ClassifiedNode, code: WaitCode, afterSeconds: number): void => {
    verdicts.set(each.node.metadata.uid, { kind: "wait", code, afterSeconds });
  };
  if (count.kind === "unknown" || !(count.count >= 1)) {
    for (const each of deletable) wait(each, "NodeCountUnknown", UNKNOWN_AFTER_SECONDS);
    return unchanged;
  }
  // Uncounted deletions come first, so that the others see the number of remaining nodes.
  const ordered = [...deletable.filter((each) => !isCounted(each)), ...deletable.filter(isCounted)];
  const deletableUids = new Set(deletable.map(({ node }) => node.metadata.uid));
  const otherDeletions = Object.entries(state.deletions).filter(
    ([uid, deletion]) => isUnderWay(deletion, now) && !deletableUids.has(uid),
  ).length;
  const nodes = count.count;
  const unproven: UnprovenDeletion[] = [];
  let { deletions } = state;
  let engagedBrake: Omit<Brake, "waiting"> | undefined;
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
      engagedBrake ??= checkBrake(tried, { now, settings, nodes, leaving });
      if (engagedBrake !== undefined) {
        waiting += 1;
        continue;
      }
      // Whether earlier deletions are complete is unknown.
      if (nodes - otherDeletions - leaving - added <= 1) {
        wait(each, "DeletionsUnderWay", UNKNOWN_AFTER_SECONDS);
        continue;
      }
    } else leaving += 1;
    added += 1;
    if (each.finding.kind === "missed") unproven.push({ uid, counted });
    deletions = tried;
  }
  const brake = engagedBrake === undefined ? state.brake : { ...engagedBrake, waiting };
  return { verdicts, deletions, added, unproven, brake };
}

const UNKNOWN_AFTER_SECONDS = 30;

function describePurpose({ added, brake }: IntentPlan, missed: number): string {
  if (added > 0) return `${added} nodes will be deleted`;
  return brake === undefined ? `instances of ${missed} nodes are not found` : "the brake is pulled";
}

/**
 * Whether the brake counts the deletion: not if the cloud shows the end of the instance, or the autoscaler
 * announced it.
 */
function isCounted({ finding }: ClassifiedNode): boolean {
  return finding.kind === "missed" && !finding.isExpected;
}

function selectNodes(found: readonly ClassifiedNode[], kind: NodeClassification["kind"]): Node[] {
  return found.filter(({ finding }) => finding.kind === kind).map(({ node }) => node);
}
