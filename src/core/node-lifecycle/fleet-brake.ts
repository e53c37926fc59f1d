import {
  createFleetRecord,
  type FleetBrake,
  type FleetBrakeState,
  type FleetDeletion,
  type FleetHold,
  type FleetLimit,
  type FleetRecord,
  MAX_CLUSTER_DELETIONS,
  MAX_FLEET_DELETIONS,
  type UnprovenDeletion,
} from "#core/node-lifecycle/fleet-record.ts";
import { CLOCK_SECONDS, getSecondsSince, INTENT_SECONDS } from "#core/node-lifecycle/state.ts";

/** Deletions that a cluster's own brake allows, and that the fleet brake must also allow. */
export interface FleetClaim {
  readonly cluster: string;
  readonly deletions: readonly UnprovenDeletion[];
  /** The time of the claim, by the claimant's clock. */
  readonly now: Date;
}

/** The result of a claim; valid once `next` has replaced the record on which it is based. */
export interface Admission {
  /** The uids of the allowed deletions. */
  readonly granted: readonly string[];
  /** Why some deletions are not allowed. */
  readonly hold: FleetHold | undefined;
  /** Set if the brake is engaged, by this claim or an earlier one. */
  readonly brake: FleetBrake | undefined;
  readonly next: FleetRecord | undefined;
}

/** The state before any claim. */
export const NO_CLAIM: FleetBrakeState = { granted: new Set(), held: undefined };

/**
 * An allowed deletion is carried out within the life of its intent, and the writer's clock may differ. With
 * this distance between their recorded times, two deletions are really at least ten minutes apart.
 */
const WINDOW_SECONDS = 600 + INTENT_SECONDS + CLOCK_SECONDS;

/** Unproven deletions are always allowed in this many clusters, however small the fleet. */
const MIN_CLUSTERS = 3;
/** The percentage of clusters in which unproven deletions are allowed. */
const CLUSTER_PERCENT = 2;

/**
 * Returns in how many clusters deletions are allowed in ten minutes; the number of clusters may be unknown.
 */
export function getMaxClusters(clusters: number | undefined): number {
  return Math.max(MIN_CLUSTERS, Math.floor(((clusters ?? 0) * CLUSTER_PERCENT) / 100));
}

/** Returns the recorded deletions that count at a time. */
export function selectCountedDeletions({ deletions }: FleetRecord, now: Date): readonly FleetDeletion[] {
  return deletions.filter(({ at }) => getSecondsSince(at, now) < WINDOW_SECONDS);
}

/**
 * Allows as many deletions as the limits permit; the first one beyond engages the brake, and then none is
 * allowed. A cluster that has used its share is held alone until its deletions no longer count. Its further
 * claims engage no brake, because a tenant can claim anything.
 */
export function admit(record: FleetRecord, { cluster, deletions, now }: FleetClaim): Admission {
  const { brake: engagedBrake } = record;
  if (engagedBrake !== undefined)
    return { granted: [], hold: describeFleetBrakeHold(engagedBrake), brake: engagedBrake, next: undefined };
  const at = now.toISOString();
  const uncounted = deletions.filter(({ counted }) => !counted).map(({ uid }) => uid);
  const granted: string[] = [];
  const refused: FleetLimit[] = [];
  let beyondShare = 0;
  let countedDeletions = selectCountedDeletions(record, now);
  for (const { uid } of deletions.filter(({ counted }) => counted)) {
    const others = countedDeletions.filter((each) => each.cluster !== cluster || each.uid !== uid);
    if (hasUsedShare(others, cluster)) {
      beyondShare += 1;
      continue;
    }
    const limit = findExceededLimit(others, cluster, record.clusters);
    if (limit !== undefined) {
      refused.push(limit);
      continue;
    }
    // An allowed claim whose actor died, or lost a conflict in the cluster, counts once, from now on.
    countedDeletions = [...others, { cluster, uid, at }];
    granted.push(uid);
  }
  const [limit] = refused;
  const brake = limit && {
    since: at,
    limit,
    cluster,
    deletions: countedDeletions.length,
    clusters: listDeletionClusters(countedDeletions).size,
    waiting: refused.length,
  };
  const needsWrite = granted.length > 0 || brake !== undefined;
  return {
    granted: [...uncounted, ...granted],
    hold: brake === undefined ? describeShareHold(beyondShare) : describeFleetBrakeHold(brake),
    brake,
    next: needsWrite
      ? {
          ...record,
          written: at,
          deletions: [...countedDeletions],
          ...(brake === undefined ? {} : { brake }),
        }
      : undefined,
  };
}

function hasUsedShare(others: readonly FleetDeletion[], cluster: string): boolean {
  return others.filter((each) => each.cluster === cluster).length >= MAX_CLUSTER_DELETIONS;
}

/** The limit that one more deletion in the cluster would exceed. */
function findExceededLimit(
  others: readonly FleetDeletion[],
  cluster: string,
  clusters: number | undefined,
): FleetLimit | undefined {
  if (others.length >= MAX_FLEET_DELETIONS) return "Deletions";
  const concerned = listDeletionClusters(others).add(cluster);
  return concerned.size > getMaxClusters(clusters) ? "Clusters" : undefined;
}

/** Returns the clusters of these deletions. */
export function listDeletionClusters(deletions: readonly FleetDeletion[]): Set<string> {
  return new Set(deletions.map(({ cluster }) => cluster));
}

/**
 * Returns the record with the brake released and its counts reset, for an operator who has checked the cause.
 * `clusters` is the number of clusters; by default it stays unchanged. Deletions that may still be in
 * progress continue to count.
 */
export function resetFleetBrake(
  { clusters: before, deletions }: FleetRecord,
  now: Date,
  clusters: number | undefined = before,
): FleetRecord {
  const isUnderWay = ({ at }: FleetDeletion): boolean =>
    Math.abs(getSecondsSince(at, now)) < INTENT_SECONDS + CLOCK_SECONDS;
  return {
    ...createFleetRecord(),
    written: now.toISOString(),
    ...(clusters === undefined ? {} : { clusters }),
    deletions: deletions.filter(isUnderWay),
  };
}

/** For the operator: why the nodes of one cluster only are held. */
function describeShareHold(waiting: number): FleetHold | undefined {
  if (waiting === 0) return undefined;
  return {
    code: "FleetShareUsed",
    message: `${MAX_CLUSTER_DELETIONS} nodes of this cluster were deleted within ten minutes without a terminated instance that explains it, and ${waiting} more wait until these no longer count: see that their instances are gone; other clusters are not held`,
  };
}

/** Returns, for the operator, why the fleet brake holds a node. */
export function describeFleetBrakeHold({ since, limit, deletions, clusters }: FleetBrake): FleetHold {
  const excess = limit === "Deletions" ? "too many nodes" : "nodes of too many clusters";
  // The text is shown for one cluster: it must not name others.
  return {
    code: "FleetBrakeEngaged",
    message: `the brake of the fleet is pulled since ${since} (${excess}: ${deletions} deleted by then, in ${clusters} clusters): see "serverless-ccm brake --fleet" and that the instances are gone, then run "serverless-ccm brake --fleet --reset"`,
  };
}
