import type { LogLine } from "#functions/parts/log-report.ts";

/** The namespace of CloudWatch's metrics. */
const NAMESPACE = "serverless-ccm";

/**
 * The line of a finished sweep as CloudWatch makes a metric of it (its embedded metric format): `overdue`, over all clusters in any
 * case, and where there is a gap by cluster as well. A metric of each cluster that is well would cost more than the sweep itself.
 */
export function withMetric(line: LogLine, nowMs: number): LogLine {
  const { event, cluster, overdue } = line;
  if (event !== "SweepFinished" || typeof overdue !== "number") return line;
  const dimensions = cluster !== undefined && overdue > 0 ? [[], ["cluster"]] : [[]];
  const metrics = [{ Name: "overdue", Unit: "Count" }];
  const directive = { Namespace: NAMESPACE, Dimensions: dimensions, Metrics: metrics };
  return { ...line, _aws: { Timestamp: Math.round(nowMs), CloudWatchMetrics: [directive] } };
}
