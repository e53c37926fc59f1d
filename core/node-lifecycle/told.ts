import { tell } from "#core/cluster-events.ts";
import { INSTANCE_ANNOTATION, REGION_LABELS } from "#core/contracts.ts";
import type { Because, ClusterEvent } from "#core/decision.ts";
import type { Elsewhere } from "#core/node-lifecycle/finding.ts";
import type { FleetHoldCode } from "#core/node-lifecycle/fleet-brake.ts";
import type { WaitCode } from "#core/node-lifecycle/plan.ts";
import type { Brake, BrakeLimit, UnusableCode } from "#core/node-lifecycle/state.ts";
import { shown } from "#core/shown-text.ts";

/** What people in the cluster are told of a node that is not deleted because the state cannot be used. */
export const UNUSABLE_EVENTS: Readonly<Record<UnusableCode, ClusterEvent>> = {
  StateMissing: tell("DeletionStateUnusable", "StateMissing", {}),
  StateUnreadable: tell("DeletionStateUnusable", "StateUnreadable", {}),
  StateMalformed: tell("DeletionStateUnusable", "StateMalformed", {}),
  StateOfOtherVersion: tell("DeletionStateUnusable", "StateOfOtherVersion", {}),
};

/** The same of one that the brake holds. */
export const BRAKE_EVENTS: Readonly<Record<BrakeLimit, ClusterEvent>> = {
  TenMinutes: tell("DeletionBrakePulled", "TenMinutes", {}),
  Day: tell("DeletionBrakePulled", "Day", {}),
  AllNodes: tell("DeletionBrakePulled", "AllNodes", {}),
};

/** The same of one that is held for the sake of all clusters; people in this one are not told what is in others. */
export const FLEET_EVENTS: Readonly<Record<FleetHoldCode, readonly ClusterEvent[]>> = {
  FleetBrakeEngaged: [tell("DeletionBrakePulled", "Fleet", {})],
  FleetBrakeUnusable: [tell("DeletionBrakePulled", "Fleet", {})],
  FleetBrakeContended: [],
  FleetShareUsed: [tell("DeletionBrakePulled", "TenMinutes", {})],
};

/** The same of one that may well be gone, which nothing proves. */
export const UNPROVEN_EVENT: ClusterEvent = tell("DeletionUnproven", "NoControl", {});

/** For the operator: why a node waits whose instance is gone. */
export const WAIT_MESSAGES: Readonly<Record<WaitCode, string>> = {
  InstanceMissed: "its instance was not found, and has to be missed once more",
  DeletionIntended: "an invocation that has announced its deletion may still be at it",
  DeletionsUnderWay: "other nodes are being deleted, and one has to stay",
  DeletionStateFull: "the state remembers as many deletions as it can: they are forgotten after a day",
  NodeCountUnknown: "the API server does not say how many nodes the cluster has",
};

/** For the operator: why a node stays whose instance is not found, and what to look at. */
export function becauseUnproven(elsewhere: Elsewhere | undefined): Because {
  const held = "its instance is not found, and the node is not deleted:";
  if (elsewhere === undefined) {
    const message = `${held} no other instance was found that would show that this is the right account and region`;
    return { code: "DeletionUnproven", message };
  }
  const { id, difference } = elsewhere;
  const { part, node, control } = difference;
  const found = control === "" ? `is of an unknown ${part}` : `is in ${part} ${control}`;
  const mend =
    part === "region"
      ? `where the label ${REGION_LABELS.stable} of the node says something else than its cloud, correct it`
      : `where the cluster has moved, remove the annotation ${INSTANCE_ANNOTATION} from its nodes`;
  const message = `${held} ${id}, which was found, ${found}, and the node was seen in ${part} ${shown(node, 128)}: check credentials, region and network of the cluster's configuration; ${mend}`;
  return { code: "DeletionUnproven", message };
}

/** For the operator: why the brake holds a node. */
export function becauseOfBrake({ since, limit, nodes, deleted, waiting }: Brake): Because {
  const message = `the brake is pulled since ${since} (${limit}: ${deleted} deleted, ${waiting} more to be, of ${nodes} nodes): see that their instances are gone, then run "serverless-ccm brake --reset CLUSTER"`;
  return { code: "BrakePulled", message };
}
