import { AggregatorRegistry, type MetricObjectWithValues, type MetricValue } from "prom-client";
import type { ServedMetrics } from "#relay/report/metric.ts";

type Metric = MetricObjectWithValues<MetricValue<string>>;

/** A value of a histogram also names its series, such as its buckets; the library's types omit that. */
type Value = MetricValue<string> & { readonly metricName?: string };

/**
 * Metrics that stay separate by cluster: those that the alerts of infra/monitoring read so, and why a cluster
 * is held or slowed.
 */
export const METRICS_BY_CLUSTER: ReadonlySet<string> = new Set([
  "serverless_ccm_cloud_throttled_total",
  "serverless_ccm_cluster_held",
  "serverless_ccm_cluster_limited",
  "serverless_ccm_cluster_misconfigured",
  "serverless_ccm_cluster_quarantined",
  "serverless_ccm_cluster_ready",
  "serverless_ccm_cluster_slowed",
  "serverless_ccm_lease_renewals_total",
  "serverless_ccm_orphaned_load_balancers",
  "serverless_ccm_stopped",
  "serverless_ccm_sweep_overdue_nodes",
  "serverless_ccm_tainted_nodes",
  "serverless_ccm_undone_total",
  "serverless_ccm_unready_nodes",
  "serverless_ccm_waiting_services",
]);

/**
 * Serves the metrics of many clusters with few series each: all other metrics are summed over clusters,
 * without the label `cluster`.
 */
export function createFleetMetrics({
  contentType,
  values,
}: {
  readonly contentType: string;
  readonly values: () => Promise<readonly Metric[]>;
}): ServedMetrics {
  const sum = createClusterSum();
  return {
    contentType,
    async text() {
      return AggregatorRegistry.aggregate([(await values()).map(sum)]).metrics();
    },
  };
}

/** The last value of a cluster's series, and the scrape that saw it. */
interface LastSample {
  readonly value: number;
  readonly scrape: number;
}

/** A sum over all clusters, with its labels. */
interface Total {
  readonly labels: MetricValue<string>["labels"];
  readonly metricName: string | undefined;
  value: number;
}

/**
 * Sums metrics over clusters. A counter's sum never falls: it grows with each cluster's counter. A removed
 * cluster or a restarted worker is no reset, which Prometheus would count as many new events.
 */
function createClusterSum(): (metric: Metric) => Metric {
  const counters = new Map<
    string,
    { totals: Map<string, Total>; seen: Map<string, LastSample>; scrape: number }
  >();
  return (metric) => {
    if (METRICS_BY_CLUSTER.has(metric.name)) return metric;
    const known = counters.get(metric.name);
    if (!metric.values.some(({ labels }) => "cluster" in labels)) {
      known?.seen.clear();
      return known === undefined ? metric : { ...metric, values: listValues(known.totals) };
    }
    if (isGauge(metric)) {
      const totals = new Map<string, Total>();
      for (const value of metric.values) getTotal(totals, value).value += value.value;
      return { ...metric, values: listValues(totals) };
    }
    const state = known ?? { totals: new Map(), seen: new Map(), scrape: 0 };
    counters.set(metric.name, state);
    state.scrape += 1;
    for (const value of metric.values as readonly Value[]) {
      const key = formatKey(value.metricName, value.labels);
      const before = state.seen.get(key)?.value ?? 0;
      // A lower value means that the counter restarted.
      getTotal(state.totals, value).value += value.value >= before ? value.value - before : value.value;
      state.seen.set(key, { value: value.value, scrape: state.scrape });
    }
    for (const [key, { scrape }] of state.seen) if (scrape !== state.scrape) state.seen.delete(key);
    return { ...metric, values: listValues(state.totals) };
  };
}

function getTotal(totals: Map<string, Total>, value: Value): Total {
  const { cluster: _, ...labels } = value.labels;
  const key = formatKey(value.metricName, labels);
  const total = totals.get(key) ?? { labels, metricName: value.metricName, value: 0 };
  totals.set(key, total);
  return total;
}

function listValues(totals: ReadonlyMap<string, Total>): Value[] {
  return [...totals.values()].map(({ labels, metricName, value }) => ({
    labels,
    value,
    ...(metricName === undefined ? {} : { metricName }),
  }));
}

function formatKey(metricName: string | undefined, labels: MetricValue<string>["labels"]): string {
  return JSON.stringify([metricName, Object.entries(labels).toSorted(([a], [b]) => (a < b ? -1 : 1))]);
}

/** The library's type says number, but the value is a string. */
function isGauge({ type }: Metric): boolean {
  return (type as unknown) === "gauge";
}
