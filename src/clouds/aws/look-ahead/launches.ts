import type { Filter } from "@aws-sdk/client-ec2";
import { buildClusterFilters, describePage, type FoundInstance } from "#clouds/aws/describe-instances.ts";
import type { AwsCluster } from "#clouds/aws/ownership.ts";
import { isClusterInstance } from "#clouds/aws/resolution.ts";
import type { LookAhead } from "#clouds/aws/resolve.ts";

/** Half of the time that a machine needs from its launch to its join, or less. */
const EVERY_MS = 15_000;

/** A few nodes cost no more calls with this look than without it. */
const MIN_JOINING = 5;

/** A machine joins within this time after its launch, or is looked up as it joins. */
const LAUNCHED_WITHIN_MS = 3 * 60_000;

const PAGE_SIZE = 1_000;

/** EC2's quotas allow an account about 1,400 launches in three minutes. */
const MAX_PAGES = 2;

/** The batch that makes the look waits for it, because a function may be frozen after its answer. */
const MAX_WAIT_MS = 1_000;

/** The parts of a look at launches. */
export interface LaunchLookOptions {
  /** A monotonic clock in milliseconds. */
  readonly now: () => number;
  /** Milliseconds since the epoch. */
  readonly wallClock: () => number;
  /** Keeps an instance of the cluster under the id or the name by which its node will ask for it. */
  readonly keep: (key: string, found: FoundInstance) => void;
}

/**
 * Creates the look at instances that were launched lately: while several nodes join, more will follow. A fault
 * leaves the nodes to be looked up as they join.
 */
export function createLaunchLook(options: LaunchLookOptions): NonNullable<LookAhead["lookAtLaunches"]> {
  const { now, wallClock, keep } = options;
  let joined = 0;
  let countedFromMs = Number.NEGATIVE_INFINITY;
  let lookedMs = Number.NEGATIVE_INFINITY;

  /** Counts nodes that join, and returns whether a look is worth its call. */
  function isDue(count: number): boolean {
    if (now() - countedFromMs > EVERY_MS) {
      countedFromMs = now();
      joined = 0;
    }
    joined += count;
    return joined >= MIN_JOINING && now() - lookedMs >= EVERY_MS;
  }

  return async ({ byID, byName }, session, cluster) => {
    if (!isDue(byID + byName)) return;
    lookedMs = now();
    const limit = AbortSignal.any([session.signal, AbortSignal.timeout(MAX_WAIT_MS)]);
    const limited = session.withSignal(limit, 0);
    // Only in one VPC does a name belong to one instance.
    const isNameUnique = cluster.vpc !== undefined;
    // All pages belong to one list, so they have the same filters.
    const filters = buildFilters(cluster, wallClock());
    let token: string | undefined;
    for (let page = 0; page < MAX_PAGES; page += 1) {
      const listed = await describePage(limited, filters, PAGE_SIZE, token);
      if (listed.kind === "fault") return;
      for (const found of listed.value.found) {
        if (!isClusterInstance(found, cluster)) continue;
        const { PrivateDnsName: name } = found.instance;
        if (byID > 0) keep(found.id, found);
        if (byName > 0 && isNameUnique && name) keep(name, found);
      }
      token = listed.value.next;
      if (token === undefined) return;
    }
  };
}

/** Returns filters for the cluster's running instances that were launched lately. */
function buildFilters(cluster: AwsCluster, wallMs: number): Filter[] {
  return [
    ...buildClusterFilters(cluster, ["running"]),
    { Name: "launch-time", Values: listMinutes(wallMs - LAUNCHED_WITHIN_MS, wallMs) },
  ];
}

/** Returns patterns for all times from the minute of one time to that of another, in milliseconds since the epoch. */
function listMinutes(fromMs: number, toMs: number): string[] {
  const minutes = Math.floor(toMs / 60_000) - Math.floor(fromMs / 60_000);
  return Array.from({ length: minutes + 1 }, (_, index) => {
    const minute = new Date(fromMs + index * 60_000).toISOString().slice(0, "YYYY-MM-DDTHH:MM".length);
    return `${minute}:*`;
  });
}
