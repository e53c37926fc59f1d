import {
  emptyFleetRecord,
  type FleetBrake,
  type FleetDeletion,
  type FleetLimit,
  type FleetRecord,
  MAX_CLUSTER_DELETIONS,
  MAX_FLEET_DELETIONS,
} from "#core/node-lifecycle/fleet-record.ts";
import { CLOCK_SECONDS, INTENT_SECONDS, secondsSince } from "#core/node-lifecycle/state.ts";

/** A deletion of a node whose instance is missed, and which the cloud does not show as terminated. */
export interface UnprovenDeletion {
  readonly uid: string;
  /** Whether brakes count it: not where the autoscaler has announced it. */
  readonly counted: boolean;
}

/** Deletions that a cluster's own brake lets, and that are to be let by the fleet's. */
export interface FleetClaim {
  readonly cluster: string;
  readonly deletions: readonly UnprovenDeletion[];
  /** The moment of the claim itself, by the clock of whoever makes it. */
  readonly now: Date;
}

/** What came of a claim; it holds once `next` has taken the place of the record that it was made on. */
export interface Admission {
  /** Uids of the deletions that are let. */
  readonly granted: readonly string[];
  /** Why not all are. */
  readonly hold: FleetHold | undefined;
  /** Where it is pulled, by this claim or before. */
  readonly brake: FleetBrake | undefined;
  readonly next: FleetRecord | undefined;
}

/** Why a deletion that nothing proves is held back beyond its cluster. */
export interface FleetHold {
  readonly code: FleetHoldCode;
  readonly message: string;
}

export type FleetHoldCode =
  | "FleetBrakeEngaged"
  | "FleetBrakeUnusable"
  | "FleetBrakeContended"
  /** The cluster alone is held, and the others go on. */
  | "FleetShareUsed";

/** What an invocation knows of the fleet's brake by now: what it was let, and that it is let no more. */
export interface FleetStanding {
  readonly granted: ReadonlySet<string>;
  readonly held: FleetHold | undefined;
}

/** Nobody has asked yet. */
export const NOT_ASKED: FleetStanding = { granted: new Set(), held: undefined };

/**
 * What is let in is carried out within the life of its intent, and by the clock of somebody else: two that are so far apart as
 * written are at least ten minutes apart.
 */
const WINDOW_SECONDS = 600 + INTENT_SECONDS + CLOCK_SECONDS;

/** In so many clusters there may be deletions that nothing proves, however few clusters there are … */
const MIN_CLUSTERS = 3;
/** … or in so many percent of them. */
const CLUSTER_PERCENT = 2;

/** In how many clusters there may be deletions in ten minutes; how many there are is not always known. */
export function mostClusters(clusters: number | undefined): number {
  return Math.max(MIN_CLUSTERS, Math.floor(((clusters ?? 0) * CLUSTER_PERCENT) / 100));
}

/** The deletions of the record that count at a moment. */
export function countedDeletions({ deletions }: FleetRecord, now: Date): readonly FleetDeletion[] {
  return deletions.filter(({ at }) => secondsSince(at, now) < WINDOW_SECONDS);
}

/**
 * Lets as many deletions as there may be; the first that is one too many pulls the brake, and then there are none. A cluster that has used
 * its share is held alone, until its deletions no longer count: what it claims beyond pulls no brake, as a tenant can claim what it likes.
 */
export function admit(record: FleetRecord, { cluster, deletions, now }: FleetClaim): Admission {
  const { brake: pulled } = record;
  if (pulled !== undefined)
    return { granted: [], hold: holdOfFleetBrake(pulled), brake: pulled, next: undefined };
  const at = now.toISOString();
  const uncounted = deletions.filter(({ counted }) => !counted).map(({ uid }) => uid);
  const granted: string[] = [];
  const refused: FleetLimit[] = [];
  let beyondShare = 0;
  let known = countedDeletions(record, now);
  for (const { uid } of deletions.filter(({ counted }) => counted)) {
    const others = known.filter((each) => each.cluster !== cluster || each.uid !== uid);
    if (hasUsedShare(others, cluster)) {
      beyondShare += 1;
      continue;
    }
    const limit = limitOf(others, cluster, record.clusters);
    if (limit !== undefined) {
      refused.push(limit);
      continue;
    }
    // Whoever was let before and was killed, or came too late in the cluster, counts once, and from now on.
    known = [...others, { cluster, uid, at }];
    granted.push(uid);
  }
  const [limit] = refused;
  const brake = limit && {
    since: at,
    limit,
    cluster,
    deletions: known.length,
    clusters: clustersOf(known).size,
    waiting: refused.length,
  };
  const isNews = granted.length > 0 || brake !== undefined;
  return {
    granted: [...uncounted, ...granted],
    hold: brake === undefined ? holdOfShare(beyondShare) : holdOfFleetBrake(brake),
    brake,
    next: isNews
      ? { ...record, written: at, deletions: [...known], ...(brake === undefined ? {} : { brake }) }
      : undefined,
  };
}

function hasUsedShare(others: readonly FleetDeletion[], cluster: string): boolean {
  return others.filter((each) => each.cluster === cluster).length >= MAX_CLUSTER_DELETIONS;
}

/** The limit that one more deletion in the cluster would be beyond. */
function limitOf(
  others: readonly FleetDeletion[],
  cluster: string,
  clusters: number | undefined,
): FleetLimit | undefined {
  if (others.length >= MAX_FLEET_DELETIONS) return "Deletions";
  const concerned = clustersOf(others).add(cluster);
  return concerned.size > mostClusters(clusters) ? "Clusters" : undefined;
}

/** The clusters with deletions among these. */
export function clustersOf(deletions: readonly FleetDeletion[]): Set<string> {
  return new Set(deletions.map(({ cluster }) => cluster));
}

/**
 * The record with the brake let go and counting from anew, for an operator who has looked; `clusters` are how many there are, and as many
 * as before without it. Deletions that may still be under way go on to count.
 */
export function resetFleetBrake(
  { clusters: before, deletions }: FleetRecord,
  now: Date,
  clusters: number | undefined = before,
): FleetRecord {
  const isUnderWay = ({ at }: FleetDeletion): boolean =>
    Math.abs(secondsSince(at, now)) < INTENT_SECONDS + CLOCK_SECONDS;
  return {
    ...emptyFleetRecord(),
    written: now.toISOString(),
    ...(clusters === undefined ? {} : { clusters }),
    deletions: deletions.filter(isUnderWay),
  };
}

/** For the operator: why nodes of one cluster are held, and of no other. */
function holdOfShare(waiting: number): FleetHold | undefined {
  if (waiting === 0) return undefined;
  return {
    code: "FleetShareUsed",
    message: `${MAX_CLUSTER_DELETIONS} nodes of this cluster were deleted within ten minutes without a terminated instance that explains it, and ${waiting} more wait until these no longer count: see that their instances are gone; other clusters are not held`,
  };
}

/** For the operator: why the brake of the fleet holds a node. */
export function holdOfFleetBrake({ since, limit, deletions, clusters }: FleetBrake): FleetHold {
  const what = limit === "Deletions" ? "too many nodes" : "nodes of too many clusters";
  // It goes into what is said of one cluster: the names of others stay out of it.
  return {
    code: "FleetBrakeEngaged",
    message: `the brake of the fleet is pulled since ${since} (${what}: ${deletions} deleted by then, in ${clusters} clusters): see "serverless-ccm brake --fleet" and that the instances are gone, then run "serverless-ccm brake --fleet --reset"`,
  };
}
