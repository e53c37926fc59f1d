import type { Cluster } from "#config/cluster.ts";
import { type ClusterState, createUnfollowedState, type NotFollowedReason } from "#relay/cluster-state.ts";
import type { Quarantine } from "#relay/workers/assignment.ts";

/** The desired state of a cluster, and its worker. */
export interface DesiredCluster {
  readonly name: string;
  cluster: Cluster | undefined;
  /** Counts changes of the desired state, so that an answer to an earlier one is ignored. */
  generation: number;
  entryFault: NotFollowedReason | undefined;
  /** Whether it was followed before, so that its start is not logged. */
  isKnown: boolean;
  /** The worker that last received the cluster, if it lives. */
  worker: number | undefined;
  sentGeneration: number | undefined;
  /** Whether the cluster must end in its worker and start in another one. */
  isLeaving: boolean;
  /** The last status from its worker. */
  status: ClusterState | undefined;
  /** Called when the desired state is reached. */
  settled: () => void;
}

/** Creates a cluster without a desired state. */
export function createDesiredCluster(name: string): DesiredCluster {
  return {
    name,
    cluster: undefined,
    generation: 0,
    entryFault: undefined,
    isKnown: false,
    worker: undefined,
    sentGeneration: undefined,
    isLeaving: false,
    status: undefined,
    settled: () => {},
  };
}

/** Records that no worker holds the cluster any more. */
export function clearWorker(cluster: DesiredCluster): void {
  cluster.worker = undefined;
  cluster.sentGeneration = undefined;
  cluster.isLeaving = false;
  cluster.status = undefined;
}

/** Returns the status of the cluster; undefined if unknown. */
export function getDesiredClusterStatus(
  desired: DesiredCluster,
  quarantine: Quarantine | undefined,
  nowMs: number,
): ClusterState | undefined {
  const { name, entryFault, status } = desired;
  if (status !== undefined) return { ...status, configurationFault: entryFault ?? status.configurationFault };
  if (desired.cluster === undefined && desired.worker === undefined)
    return entryFault === undefined ? undefined : createUnfollowedState(name, entryFault);
  return {
    ...createUnfollowedState(name, describeQuarantine(quarantine, nowMs)),
    configurationFault: entryFault,
  };
}

function describeQuarantine(quarantine: Quarantine | undefined, nowMs: number): NotFollowedReason {
  if (quarantine === undefined) return { code: "Starting", message: "its worker starts" };
  const inMs = quarantine.nextMs - nowMs;
  let when = "it waits while other clusters in quarantine are being tried";
  if (quarantine.isRunning) when = "it is being tried in a worker of its own";
  else if (inMs > 0) when = `the relay retries in ${Math.ceil(inMs / 1000)} s`;
  return { code: "Quarantined", message: `what it sent has ended its worker repeatedly; ${when}` };
}
