import type { LogLine } from "#functions/parts/log-report.ts";

/** The namespace of CloudWatch's metrics. */
const NAMESPACE = "serverless-ccm";

/**
 * The line of a finished sweep as CloudWatch makes metrics of it (its embedded metric format): `overdue`, over all clusters in any
 * case, and where there is a gap by cluster as well; `orphans` where there are some, both ways. A metric of each cluster that is well would cost more
 * than the sweep itself. `functionPrefix` says of which deployment they are: in one account and region there are several, and what is
 * missing of one is not to be made up for by another.
 */
export function withMetric(line: LogLine, nowMs: number, functionPrefix?: string): LogLine {
  const { event, cluster, overdue, orphans } = line;
  if (event !== "SweepFinished" || typeof overdue !== "number") return line;
  const directives = [directiveOf("overdue", dimensionsOf(cluster !== undefined && overdue > 0))];
  if (typeof orphans === "number" && orphans > 0) directives.push(directiveOf("orphans", dimensionsOf(true)));
  return {
    ...line,
    ...(functionPrefix === undefined ? {} : { functionPrefix }),
    _aws: { Timestamp: Math.round(nowMs), CloudWatchMetrics: directives },
  };

  function dimensionsOf(isByCluster: boolean): readonly (readonly string[])[] {
    // Those without the prefix are for alarms and dashboards that were made before it: they go with the next version.
    const sets = isByCluster ? [[], ["cluster"]] : [[]];
    return functionPrefix === undefined
      ? sets
      : [...sets, ...sets.map((dimensions) => ["functionPrefix", ...dimensions])];
  }
}

function directiveOf(Name: string, Dimensions: readonly (readonly string[])[]) {
  return { Namespace: NAMESPACE, Dimensions, Metrics: [{ Name, Unit: "Count" }] };
}
