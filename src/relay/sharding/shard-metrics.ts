import { Gauge, Registry } from "prom-client";
import type { MetricDefinition, ServedMetrics } from "#relay/report/metric.ts";
import type { ShardStatus } from "#relay/sharding/shard.ts";

/** The metrics of a shard, with their own registry. */
export interface ShardMetrics extends ServedMetrics {
  /** All metrics, in the order of the text. */
  readonly definitions: readonly MetricDefinition[];
}

/** Creates the metrics, which read the state at each scrape. */
export function createShardMetrics(status: () => ShardStatus): ShardMetrics {
  const registry = new Registry();
  const gauge = (definition: MetricDefinition, read: (status: ShardStatus) => number): void => {
    new Gauge({
      ...definition,
      labelNames: [...definition.labelNames],
      registers: [registry],
      collect() {
        const now = status();
        this.reset();
        if (definition === REPLICA) this.set({ replica: now.self }, read(now));
        else this.set(read(now));
      },
    });
  };
  gauge(REPLICA, () => 1);
  gauge(REPLICAS, ({ replicas }) => replicas?.length ?? 0);
  gauge(CUT_OFF, ({ isCutOff }) => Number(isCutOff));
  gauge(OWN, ({ own }) => own);
  gauge(ALL, ({ all }) => all);
  return {
    definitions: [REPLICA, REPLICAS, CUT_OFF, OWN, ALL],
    contentType: registry.contentType,
    text: () => registry.metrics(),
  };
}

const REPLICA: MetricDefinition = {
  name: "serverless_ccm_replica_info",
  type: "gauge",
  help: "1, with the name of this replica.",
  labelNames: ["replica"],
};

const REPLICAS: MetricDefinition = {
  name: "serverless_ccm_replicas",
  type: "gauge",
  help: "Replicas that live, as this one knows; 0 until that is known.",
  labelNames: [],
};

const CUT_OFF: MetricDefinition = {
  name: "serverless_ccm_replica_cut_off",
  type: "gauge",
  help: "1 while the others cannot hear of this replica, and follow its clusters, too.",
  labelNames: [],
};

const OWN: MetricDefinition = {
  name: "serverless_ccm_shard_clusters",
  type: "gauge",
  help: "Clusters of the home, faulty entries included, that are this replica's.",
  labelNames: [],
};

const ALL: MetricDefinition = {
  name: "serverless_ccm_home_clusters",
  type: "gauge",
  help: "Clusters of the home, faulty entries included, whosever they are.",
  labelNames: [],
};
