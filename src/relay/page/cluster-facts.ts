import type { Metrics } from "#relay/workers/messages.ts";

/** The facts about a cluster that come from metrics. */
export interface ClusterFacts {
  /** Nodes and Services that the last sweep found overdue; undefined in a process that does not sweep. */
  readonly overdue?: number;
  /** Cloud calls that were throttled, and seconds of waiting before calls, since the process started. */
  readonly throttled: number;
  readonly waitedSeconds: number;
  /** The delays until nodes became schedulable, as cumulative buckets in seconds. */
  readonly joined: readonly Bucket[];
}

/** A bucket of a Prometheus histogram. */
export interface Bucket {
  readonly seconds: number;
  readonly count: number;
}

/** The delay from a node's creation until pods may be scheduled on it, as far as this project causes it. */
export const JOINING = "node_controller_cloud_provider_taint_removal_delay_seconds";

/** Collects the facts of each cluster. */
export function collectClusterFacts(metrics: Metrics): ReadonlyMap<string, ClusterFacts> {
  const overdue = sumByCluster(metrics, "serverless_ccm_sweep_overdue_nodes");
  const throttled = sumByCluster(metrics, "serverless_ccm_cloud_throttled_total");
  const waited = sumByCluster(metrics, "serverless_ccm_cloud_waited_seconds_total");
  const joined = collectBuckets(metrics);
  const names = new Set([overdue, throttled, waited, joined].flatMap((each) => [...each.keys()]));
  return new Map(
    [...names].map((name) => {
      const gap = overdue.get(name);
      const counted = { throttled: throttled.get(name) ?? 0, waitedSeconds: waited.get(name) ?? 0 };
      return [
        name,
        { ...counted, joined: joined.get(name) ?? [], ...(gap === undefined ? {} : { overdue: gap }) },
      ];
    }),
  );
}

/** Returns the value of a gauge of the whole process. */
export function findGauge(metrics: Metrics, metric: string): number | undefined {
  return metrics.find(({ name }) => name === metric)?.values[0]?.value;
}

function sumByCluster(metrics: Metrics, metric: string): ReadonlyMap<string, number> {
  const byCluster = new Map<string, number>();
  for (const { labels, value } of metrics.find(({ name }) => name === metric)?.values ?? []) {
    const cluster = String(labels["cluster"]);
    byCluster.set(cluster, (byCluster.get(cluster) ?? 0) + value);
  }
  return byCluster;
}

function collectBuckets(metrics: Metrics): ReadonlyMap<string, readonly Bucket[]> {
  const byCluster = new Map<string, Bucket[]>();
  for (const { labels, value } of metrics.find(({ name }) => name === JOINING)?.values ?? []) {
    // The sum and the count are listed among the buckets.
    if (labels["le"] === undefined) continue;
    const cluster = String(labels["cluster"]);
    const buckets = byCluster.get(cluster) ?? [];
    buckets.push({
      seconds: labels["le"] === "+Inf" ? Number.POSITIVE_INFINITY : Number(labels["le"]),
      count: value,
    });
    byCluster.set(cluster, buckets);
  }
  for (const buckets of byCluster.values()) buckets.sort((a, b) => a.seconds - b.seconds);
  return byCluster;
}
