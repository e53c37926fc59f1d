import type { Cluster } from "#config/cluster.ts";
import { type ConfigurationFault, type FollowedCluster, notFollowed } from "#relay/followed-cluster.ts";
import type { Quarantine } from "#relay/workers/assignment.ts";

/** What is wanted of a cluster, and where it is. */
export interface Wanted {
  readonly name: string;
  cluster: Cluster | undefined;
  /** Counts what is wanted: an answer to an earlier turn says nothing of this one. */
  turn: number;
  entryFault: ConfigurationFault | undefined;
  /** It was followed before: that it comes is no news. */
  isKnown: boolean;
  /** The worker that was told of it last, if that lives. */
  worker: number | undefined;
  toldTurn: number | undefined;
  /** It is to end in its worker, and to begin in another one. */
  isLeaving: boolean;
  /** As its worker has told last. */
  status: FollowedCluster | undefined;
  /** Called when what is wanted is so. */
  settled: () => void;
}

/** A cluster of which nothing is wanted yet. */
export function notWanted(name: string): Wanted {
  return {
    name,
    cluster: undefined,
    turn: 0,
    entryFault: undefined,
    isKnown: false,
    worker: undefined,
    toldTurn: undefined,
    isLeaving: false,
    status: undefined,
    settled: () => {},
  };
}

/** Nothing of it lives in a worker any more. */
export function leftBehind(one: Wanted): void {
  one.worker = undefined;
  one.toldTurn = undefined;
  one.isLeaving = false;
  one.status = undefined;
}

/** How the cluster fares; undefined where there is none. */
export function statusOfWanted(
  one: Wanted,
  quarantine: Quarantine | undefined,
  nowMs: number,
): FollowedCluster | undefined {
  const { name, entryFault, status } = one;
  if (status !== undefined) return { ...status, configurationFault: entryFault ?? status.configurationFault };
  if (one.cluster === undefined && one.worker === undefined)
    return entryFault === undefined ? undefined : notFollowed(name, entryFault);
  return { ...notFollowed(name, whyNot(quarantine, nowMs)), configurationFault: entryFault };
}

function whyNot(quarantine: Quarantine | undefined, nowMs: number): ConfigurationFault {
  if (quarantine === undefined) return { code: "Starting", message: "its worker starts" };
  const inMs = quarantine.nextMs - nowMs;
  let when = "it waits for its turn, as other clusters in quarantine are being tried";
  if (quarantine.isRunning) when = "it is being tried in a worker of its own";
  else if (inMs > 0) when = `it is tried again in ${Math.ceil(inMs / 1000)} s`;
  return { code: "Quarantined", message: `what it sent has ended its worker again and again; ${when}` };
}
