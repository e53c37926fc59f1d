import type { LogLine } from "#functions/parts/log-report.ts";

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
