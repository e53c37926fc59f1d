import { randomBytes } from "node:crypto";
import type { Cluster } from "#config/cluster.ts";
import { getFunctionName } from "#core/controllers.ts";
import { getErrorMessage } from "#core/sanitize-text.ts";
import { type CacheLimits, createConnectionCache } from "#functions/parts/connection-cache.ts";
import { openDeployedClusters } from "#functions/parts/deployed-clusters.ts";
import { type LogLine, logToStandardOutput } from "#functions/parts/log-report.ts";
import { createDeadline, type FunctionContext } from "#functions/parts/platform-function.ts";
import { openStopReader } from "#functions/parts/read-stop.ts";
import { systemClock } from "#kube/follow/clock.ts";
import type { OpenDeployment } from "#platforms/platform.ts";
import { type DispatchDependencies, type SweepResult, sweep } from "#sweep/dispatch.ts";
import { MAX_SHARD_CLUSTERS, parseSweepPayload } from "#sweep/payload.ts";
import { createSweepTurns } from "#sweep/sweep-cluster.ts";

/** The handler that the platform calls; rejects with `SweepRejected`, or if the clusters are unknown. */
export type SweepFunction = (event: unknown, context: FunctionContext) => Promise<SweepResult>;

/** The dependencies of a deployed sweep, and its deployment. */
export interface SweepFunctionDependencies extends DispatchDependencies {
  /** The prefix of the deployment's function names; undefined if the function's own name does not show it. */
  readonly functionPrefix?: string | undefined;
}

/**
 * Creates the sweep function: it takes a schedule's event or its own shard, returns counts and logs the
 * details.
 */
export function createSweepFunction(world: SweepFunctionDependencies): SweepFunction {
  const { functionPrefix } = world;
  const log: DispatchDependencies["log"] = (line) =>
    world.log(withMetric(line, world.clock.wallTime().getTime(), functionPrefix));
  return async (event, context) => {
    const deadline = createDeadline(context);
    try {
      const payload = parseSweepPayload(event, world.clock.wallTime().getTime());
      return await sweep(payload, { ...world, log }, { signal: deadline.signal });
    } catch (error) {
      const { awsRequestId: requestId } = context;
      const code = error instanceof Error ? error.name : "Error";
      log({ level: "error", event: "InvocationFailed", requestId, code, message: getErrorMessage(error) });
      throw error;
    }
  };
}

/** The namespace of CloudWatch's metrics. */
const NAMESPACE = "serverless-ccm";

/**
 * Adds CloudWatch's embedded metric format to the line of a finished sweep. `overdue` is always emitted over
 * all clusters, and by cluster if there is a gap; `orphans` only if there are some, both ways. A metric for
 * each healthy cluster would cost more than the sweep itself. `functionPrefix` names the deployment, so that
 * deployments in one account and region do not hide each other's missing data.
 */
export function withMetric(line: LogLine, nowMs: number, functionPrefix?: string): LogLine {
  const { event, cluster, overdue, orphans } = line;
  if (event !== "SweepFinished" || typeof overdue !== "number") return line;
  const directives = [buildMetricDirective("overdue", dimensionsOf(cluster !== undefined && overdue > 0))];
  if (typeof orphans === "number" && orphans > 0)
    directives.push(buildMetricDirective("orphans", dimensionsOf(true)));
  return {
    ...line,
    ...(functionPrefix === undefined ? {} : { functionPrefix }),
    _aws: { Timestamp: Math.round(nowMs), CloudWatchMetrics: directives },
  };

  function dimensionsOf(isByCluster: boolean): readonly (readonly string[])[] {
    // The sets without the prefix serve alarms and dashboards made before it; the next version removes them.
    const sets = isByCluster ? [[], ["cluster"]] : [[]];
    return functionPrefix === undefined
      ? sets
      : [...sets, ...sets.map((dimensions) => ["functionPrefix", ...dimensions])];
  }
}

function buildMetricDirective(Name: string, Dimensions: readonly (readonly string[])[]) {
  return { Namespace: NAMESPACE, Dimensions, Metrics: [{ Name, Unit: "Count" }] };
}

/** Clusters with a cached connection in a warm function: those of a shard. */
const CACHE: CacheLimits = { most: MAX_SHARD_CLUSTERS };

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
  openDeployment: OpenDeployment,
  cache = CACHE,
): SweepFunctionDependencies {
  const { clusters, judgeAddress } = openDeployedClusters(environment);
  const deployment = openDeployment(environment, OWN_NAME);
  return {
    clusters: async () => (await clusters.all()).filter(isReached),
    clustersNamed: async (names) => (await clusters.named(names)).filter(isReached),
    api: createConnectionCache({ role: OWN_NAME, ...cache, answersAlone: false, judgeAddress }),
    invoker: deployment.createInvoker({
      functionName: getFunctionName,
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
