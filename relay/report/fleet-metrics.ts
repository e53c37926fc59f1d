import { AggregatorRegistry, type MetricObjectWithValues, type MetricValue } from "prom-client";
import type { ServedMetrics } from "#relay/report/process-metrics.ts";

type Metric = MetricObjectWithValues<MetricValue<string>>;

/** Values of a histogram say which of its series they are of, such as its buckets; the types do not. */
type Value = MetricValue<string> & { readonly metricName?: string };

/** What stays apart by cluster: whatever an alert of infra/monitoring reads so, and why a cluster is held or slowed. */
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

/** Serves metrics of clusters with few series for each: all other metrics are of all clusters together, without the label `cluster`. */
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

/** The last value of a series of one cluster, and the scrape that saw it. */
interface Seen {
  readonly value: number;
  readonly scrape: number;
}

/** A sum over all clusters, and its labels. */
interface Total {
  readonly labels: MetricValue<string>["labels"];
  readonly metricName: string | undefined;
  value: number;
}

/**
 * Sums metrics over clusters. A counter's sum never falls: it grows by what each cluster's counter has grown, so that a cluster that is
 * taken out, or whose worker starts again, is no reset of the sum, which Prometheus would take for as many new events.
 */
function createClusterSum(): (metric: Metric) => Metric {
  const counters = new Map<string, { totals: Map<string, Total>; seen: Map<string, Seen>; scrape: number }>();
  return (metric) => {
    if (METRICS_BY_CLUSTER.has(metric.name)) return metric;
    const known = counters.get(metric.name);
    if (!metric.values.some(({ labels }) => "cluster" in labels)) {
      known?.seen.clear();
      return known === undefined ? metric : { ...metric, values: valuesOf(known.totals) };
    }
    if (isGauge(metric)) {
      const totals = new Map<string, Total>();
      for (const value of metric.values) totalFor(totals, value).value += value.value;
      return { ...metric, values: valuesOf(totals) };
    }
    const state = known ?? { totals: new Map(), seen: new Map(), scrape: 0 };
    counters.set(metric.name, state);
    state.scrape += 1;
    for (const value of metric.values as readonly Value[]) {
      const key = keyOf(value.metricName, value.labels);
      const before = state.seen.get(key)?.value ?? 0;
      // Less than before: it was counted from anew.
      totalFor(state.totals, value).value += value.value >= before ? value.value - before : value.value;
      state.seen.set(key, { value: value.value, scrape: state.scrape });
    }
    for (const [key, { scrape }] of state.seen) if (scrape !== state.scrape) state.seen.delete(key);
    return { ...metric, values: valuesOf(state.totals) };
  };
}

function totalFor(totals: Map<string, Total>, value: Value): Total {
  const { cluster: _, ...labels } = value.labels;
  const key = keyOf(value.metricName, labels);
  const total = totals.get(key) ?? { labels, metricName: value.metricName, value: 0 };
  totals.set(key, total);
  return total;
}

function valuesOf(totals: ReadonlyMap<string, Total>): Value[] {
  return [...totals.values()].map(({ labels, metricName, value }) => ({
    labels,
    value,
    ...(metricName === undefined ? {} : { metricName }),
  }));
}

function keyOf(metricName: string | undefined, labels: MetricValue<string>["labels"]): string {
  return JSON.stringify([metricName, Object.entries(labels).toSorted(([a], [b]) => (a < b ? -1 : 1))]);
}

/** The types say that it is a number; it is a word. */
function isGauge({ type }: Metric): boolean {
  return (type as unknown) === "gauge";
}
