import type { LogLine } from "#functions/parts/log-report.ts";

/** The namespace of CloudWatch's metrics. */
const NAMESPACE = "serverless-ccm";

/**
 * The line of a finished sweep as CloudWatch makes metrics of it (its embedded metric format): `overdue`, over all clusters in any
 * case, and where there is a gap by cluster as well; `orphans` where there are some, both ways. A metric of each cluster that is well would cost more
 * than the sweep itself.
 */
export function withMetric(line: LogLine, nowMs: number): LogLine {
  const { event, cluster, overdue, orphans } = line;
  if (event !== "SweepFinished" || typeof overdue !== "number") return line;
  const dimensions = cluster !== undefined && overdue > 0 ? [[], ["cluster"]] : [[]];
  const directives = [directiveOf("overdue", dimensions)];
  if (typeof orphans === "number" && orphans > 0) directives.push(directiveOf("orphans", [[], ["cluster"]]));
  return { ...line, _aws: { Timestamp: Math.round(nowMs), CloudWatchMetrics: directives } };
}

function directiveOf(Name: string, Dimensions: readonly (readonly string[])[]) {
  return { Namespace: NAMESPACE, Dimensions, Metrics: [{ Name, Unit: "Count" }] };
}
