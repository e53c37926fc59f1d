import { buildClusterEvent } from "#core/cluster-events.ts";
import { INSTANCE_ANNOTATION, REGION_LABELS } from "#core/contracts.ts";
import type { ClusterEvent } from "#core/decision.ts";
import type { ForeignInstance } from "#core/node-lifecycle/classification.ts";
import type { FleetHoldCode } from "#core/node-lifecycle/fleet-record.ts";
import type { WaitCode } from "#core/node-lifecycle/plan.ts";
import type { Brake, BrakeLimit, UnusableCode } from "#core/node-lifecycle/state.ts";
import type { Reason } from "#core/reason.ts";
import { sanitizeText } from "#core/sanitize-text.ts";

/** The Events on nodes that are not deleted because the state is unusable. */
export const UNUSABLE_EVENTS: Readonly<Record<UnusableCode, ClusterEvent>> = {
  StateMissing: buildClusterEvent("DeletionStateUnusable", "StateMissing", {}),
  StateUnreadable: buildClusterEvent("DeletionStateUnusable", "StateUnreadable", {}),
  StateMalformed: buildClusterEvent("DeletionStateUnusable", "StateMalformed", {}),
  StateOfOtherVersion: buildClusterEvent("DeletionStateUnusable", "StateOfOtherVersion", {}),
};

/** The Events on nodes that the brake holds. */
export const BRAKE_EVENTS: Readonly<Record<BrakeLimit, ClusterEvent>> = {
  TenMinutes: buildClusterEvent("DeletionBrakePulled", "TenMinutes", {}),
  Day: buildClusterEvent("DeletionBrakePulled", "Day", {}),
  AllNodes: buildClusterEvent("DeletionBrakePulled", "AllNodes", {}),
};

/** The Events on nodes that the fleet brake holds; they reveal nothing about other clusters. */
export const FLEET_EVENTS: Readonly<Record<FleetHoldCode, readonly ClusterEvent[]>> = {
  FleetBrakeEngaged: [buildClusterEvent("DeletionBrakePulled", "Fleet", {})],
  FleetBrakeUnusable: [buildClusterEvent("DeletionBrakePulled", "Fleet", {})],
  FleetBrakeContended: [],
  FleetShareUsed: [buildClusterEvent("DeletionBrakePulled", "TenMinutes", {})],
};

/** The Event on a node whose instance may be gone, without a proof. */
export const UNPROVEN_EVENT: ClusterEvent = buildClusterEvent("DeletionUnproven", "NoControl", {});

/** For the operator: why a node whose instance is gone waits. */
export const WAIT_MESSAGES: Readonly<Record<WaitCode, string>> = {
  InstanceMissed: "its instance was not found, and has to be missed once more",
  DeletionIntended: "an invocation that has announced its deletion may still be at it",
  DeletionsUnderWay: "other nodes are being deleted, and one has to stay",
  DeletionStateFull: "the state remembers as many deletions as it can: they are forgotten after a day",
  NodeCountUnknown: "the API server does not say how many nodes the cluster has",
};

/** Returns, for the operator, why a node stays although its instance is not found, and what to check. */
export function describeUnproven(elsewhere: ForeignInstance | undefined): Reason {
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
  const message = `${held} ${id}, which was found, ${found}, and the node was seen in ${part} ${sanitizeText(node, 128)}: check credentials, region and network of the cluster's configuration; ${mend}`;
  return { code: "DeletionUnproven", message };
}

/** Returns, for the operator, why the brake holds a node. */
export function describeBrake({ since, limit, nodes, deleted, waiting }: Brake): Reason {
  const message = `the brake is pulled since ${since} (${limit}: ${deleted} deleted, ${waiting} more to be, of ${nodes} nodes): see that their instances are gone, then run "serverless-ccm brake --reset CLUSTER"`;
  return { code: "BrakePulled", message };
}
