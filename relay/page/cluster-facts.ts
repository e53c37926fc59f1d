import type { Metrics } from "#relay/workers/messages.ts";

/** What the metrics count of a cluster, as far as they do. */
export interface ClusterFacts {
  /** Nodes that the relay should have brought, by the last sweep; undefined in a process that does not sweep. */
  readonly overdue?: number;
  /** Calls to the cloud that were throttled, and seconds held back before calls, since the process began. */
  readonly throttled: number;
  readonly waitedSeconds: number;
  /** Of the delays until nodes could be scheduled on: how many were at most so many seconds, each with those before it. */
  readonly joined: readonly Bucket[];
}

/** A bucket of a histogram, as Prometheus counts. */
export interface Bucket {
  readonly seconds: number;
  readonly count: number;
}

/** From a node's creation until pods may be scheduled on it, as far as it is ours. */
export const JOINING = "node_controller_cloud_provider_taint_removal_delay_seconds";

/** Finds what there is of each cluster. */
export function factsOf(metrics: Metrics): ReadonlyMap<string, ClusterFacts> {
  const overdue = sums(metrics, "serverless_ccm_sweep_overdue_nodes");
  const throttled = sums(metrics, "serverless_ccm_cloud_throttled_total");
  const waited = sums(metrics, "serverless_ccm_cloud_waited_seconds_total");
  const joined = bucketsOf(metrics);
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

/** Of a gauge of the whole process. */
export function gaugeOf(metrics: Metrics, metric: string): number | undefined {
  return metrics.find(({ name }) => name === metric)?.values[0]?.value;
}

function sums(metrics: Metrics, metric: string): ReadonlyMap<string, number> {
  const byCluster = new Map<string, number>();
  for (const { labels, value } of metrics.find(({ name }) => name === metric)?.values ?? []) {
    const cluster = String(labels["cluster"]);
    byCluster.set(cluster, (byCluster.get(cluster) ?? 0) + value);
  }
  return byCluster;
}

function bucketsOf(metrics: Metrics): ReadonlyMap<string, readonly Bucket[]> {
  const byCluster = new Map<string, Bucket[]>();
  for (const { labels, value } of metrics.find(({ name }) => name === JOINING)?.values ?? []) {
    // The sum and the count stand beside the buckets.
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
