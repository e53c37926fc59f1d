import { randomBytes } from "node:crypto";
import type { Cluster } from "#config/cluster.ts";
import { WATCHES } from "#core/watches.ts";
import { createConnectionCache } from "#functions/parts/connection-cache.ts";
import { openDeployedClusters } from "#functions/parts/deployed-clusters.ts";
import { logToStandardOutput } from "#functions/parts/log-report.ts";
import { openStopReader } from "#functions/parts/read-stop.ts";
import type { SweepFunctionDependencies } from "#functions/parts/sweep-function.ts";
import { systemClock } from "#kube/follow/clock.ts";
import { lambda } from "#platforms/lambda/platform.ts";
import { MAX_SHARD_CLUSTERS } from "#sweep/payload.ts";
import { createSweepTurns } from "#sweep/sweep-cluster.ts";

/** Clusters with a cached connection in a warm function: those of a shard. */
const MAX_KEPT = MAX_SHARD_CLUSTERS;

/** Limit of sockets to the platform; each cluster's limits bound the invocations in flight. */
const MAX_SOCKETS = 100;

/** The relay sweeps the clusters in which it writes, because functions cannot reach them. */
const isReached = ({ writes }: Cluster): boolean => writes !== "relay";

/**
 * Each shard reads its clusters and the stops: about four of the 40 requests a second that SSM allows an
 * account by default.
 */
const HAND_ON_EVERY_MS = 200;

/** The last part of this function's name; all functions of a deployment share the prefix. */
const OWN_NAME = "sweep";

/**
 * Creates the dependencies of a deployed sweep: clusters from CLUSTERS_FILE, the other functions of the
 * deployment, and the sweep itself.
 */
export function createSweepDependencies(
  environment: Readonly<Record<string, string | undefined>>,
): SweepFunctionDependencies {
  const { clusters, judgeAddress } = openDeployedClusters(environment);
  const deployment = lambda.openDeployment(environment, OWN_NAME);
  const names = new Map(WATCHES.map(({ name, functionName }) => [name, functionName]));
  return {
    clusters: async () => (await clusters.all()).filter(isReached),
    clustersNamed: async (names) => (await clusters.named(names)).filter(isReached),
    api: createConnectionCache({ role: OWN_NAME, most: MAX_KEPT, answersAlone: false, judgeAddress }),
    invoker: deployment.createInvoker({
      functionName: (controller) => names.get(controller) ?? controller,
      maxInFlight: MAX_SOCKETS,
    }),
    handOn: (shard, signal) => deployment.invokeItself({ shard }, signal),
    handOnEveryMs: HAND_ON_EVERY_MS,
    readStop: openStopReader(environment, { readsAll: true }),
    clock: systemClock,
    random: Math.random,
    identity: `sweep-${randomBytes(4).toString("hex")}`,
    turns: createSweepTurns(systemClock),
    log: logToStandardOutput,
    functionPrefix: deployment.prefix,
  };
}
