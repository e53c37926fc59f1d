import {
  Counter,
  Gauge,
  Histogram,
  type LabelValues,
  type MetricObjectWithValues,
  type MetricValue,
  Registry,
} from "prom-client";
import { WATCHES } from "#core/controllers.ts";
import type { Watch } from "#core/watch.ts";
import type { ClusterState } from "#relay/cluster-state.ts";
import type { PlatformState } from "#relay/delivery/check-platform.ts";
import type { InvocationLimiterStatus } from "#relay/delivery/create-invocation-limiter.ts";
import { addClusterMetrics } from "#relay/report/cluster-metrics.ts";
import { createLabelLimit, DELAY_BUCKETS, type MetricDefinition } from "#relay/report/metric.ts";
import { addNoteMetrics } from "#relay/report/note-metrics.ts";
import type { RelayNote } from "#relay/report/relay-note.ts";
import { addStockMetrics } from "#relay/report/stock-metrics.ts";

/** The metrics of one relay, with its own registry. */
export interface RelayMetrics {
  /** All metrics, in the order of the text. */
  readonly definitions: readonly MetricDefinition[];
  readonly contentType: string;
  /** Returns the metrics in Prometheus' text format. */
  text(): Promise<string>;
  /** Returns the metrics as plain data, to be merged with others. */
  values(): Promise<MetricObjectWithValues<MetricValue<string>>[]>;
  observe(note: RelayNote): void;
  /** Sets where gauges read the state of the clusters. */
  follow(status: () => readonly ClusterState[]): void;
  /** Sets where the platform's state is read, in processes that invoke functions over a network. */
  followPlatform(state: () => PlatformState | undefined): void;
  /** Sets where the number of overdue nodes is read, in the process that sweeps. */
  followSweep(overdue: () => ReadonlyMap<string, number>): void;
  /** Sets where the invocation limiter's state is read, in the process that owns it. */
  followLimiter(status: () => InvocationLimiterStatus): void;
  /**
   * Sets where the controllers are read whose events this process handles itself because the platform fails.
   */
  followFallback(failing: () => readonly string[]): void;
  /** Counts an event that this process handles itself. */
  fellBack(cluster: string, controller: string): void;
  /**
   * Sets where it reads whether the last read of the cluster registry failed, in the process that follows
   * one.
   */
  followHome(isUnreadable: () => boolean): void;
  /** Drops what was counted for a cluster that is not followed any more. */
  forget(cluster: string): Promise<void>;
}

/** The number of different values, over all clusters, of a label whose values come from outside. */
const MAX_LABEL_VALUES = 50;

/**
 * Creates the metrics. Labels are configured clusters, controllers, resources, and a limited number of codes.
 */
export function createRelayMetrics(watches: readonly Watch[] = WATCHES): RelayMetrics {
  const registry = new Registry();
  const registers = [registry];
  const codes = createLabelLimit(MAX_LABEL_VALUES);
  let status: () => readonly ClusterState[] = () => [];

  const definitions: MetricDefinition[] = [];
  const defined = (definition: MetricDefinition): MetricDefinition => {
    definitions.push(definition);
    return definition;
  };
  const counter = (word: string, help: string, labelNames: readonly string[]): Counter =>
    new Counter({
      ...defined({ name: `serverless_ccm_${word}`, type: "counter", help, labelNames }),
      registers,
    });
  const histogram = (name: string, help: string, labelNames: readonly string[]): Histogram =>
    new Histogram({
      ...defined({ name, type: "histogram", help, labelNames }),
      buckets: [...DELAY_BUCKETS],
      registers,
    });

  addClusterMetrics({ watches, registers, defined, codes, status: () => status() });
  const observeNote = addNoteMetrics({ watches, counter, histogram, codes });
  const observeStock = addStockMetrics(registers, (definition) => {
    definitions.push(definition);
    return definition;
  });
  const fallbacks = counter(
    "fallback_events_total",
    "Events that were handled in this process, as the platform failed.",
    ["cluster", "controller"],
  );

  return {
    definitions,
    contentType: registry.contentType,
    text: () => registry.metrics(),
    values: () => registry.getMetricsAsJSON(),
    follow(read) {
      status = read;
    },
    followPlatform(state) {
      new Gauge({
        ...defined({
          name: "serverless_ccm_platform_reachable",
          type: "gauge",
          help: "1 while the functions that the clusters need can be invoked, by the last dry run.",
          labelNames: [],
        }),
        registers,
        collect() {
          this.set(Number(state()?.reachable ?? false));
        },
      });
    },
    followSweep(overdue) {
      new Gauge({
        ...defined({
          name: "serverless_ccm_sweep_overdue_nodes",
          type: "gauge",
          help: "Nodes and Services that the last list of the sweep found waiting although the relay should have sent them.",
          labelNames: ["cluster"],
        }),
        registers,
        collect() {
          this.reset();
          for (const [cluster, nodes] of overdue()) this.set({ cluster }, nodes);
        },
      });
    },
    fellBack: (cluster, controller) => fallbacks.inc({ cluster, controller }),
    followFallback(failing) {
      new Gauge({
        ...defined({
          name: "serverless_ccm_fallback",
          type: "gauge",
          help: "1 while the function's events are handled in this process, as the platform fails; by controller.",
          labelNames: ["function"],
        }),
        registers,
        collect() {
          this.reset();
          for (const controller of failing()) this.set({ function: controller }, 1);
        },
      });
    },
    followLimiter: (limiter) => addLimiterMetrics(registers, limiter, defined),
    followHome(isUnreadable) {
      new Gauge({
        ...defined({
          name: "serverless_ccm_clusters_unreadable",
          type: "gauge",
          help: "1 while the cluster registry cannot be read; the known clusters continue.",
          labelNames: [],
        }),
        registers,
        collect() {
          this.set(Number(isUnreadable()));
        },
      });
    },
    async forget(cluster) {
      for (const metric of registry.getMetricsAsArray()) {
        // Gauges are read again at each scrape.
        if (!(metric instanceof Counter) && !(metric instanceof Histogram)) continue;
        const { values } = await metric.get();
        for (const { labels } of values)
          if (labels["cluster"] === cluster) metric.remove(dropBucketLabel(labels));
      }
    },
    observe(note) {
      if (note.kind === "delivered") observeStock(note);
      observeNote(note);
    },
  };
}

function dropBucketLabel({
  le: _,
  ...labels
}: Partial<Record<string, string | number>>): LabelValues<string> {
  return labels as LabelValues<string>;
}

/**
 * Adds metrics about the process's invocation limiter, read whenever the metrics are; `defined` records each
 * for the reference.
 */
function addLimiterMetrics(
  registers: Registry[],
  status: () => InvocationLimiterStatus,
  defined: (definition: MetricDefinition) => MetricDefinition,
): void {
  new Gauge({
    ...defined({
      name: "serverless_ccm_cluster_slowed",
      type: "gauge",
      help: "1 while the cluster has one invocation at a time, as they are slow or fail.",
      labelNames: ["cluster"],
    }),
    registers,
    collect() {
      this.reset();
      for (const cluster of status().slowedClusters) this.set({ cluster }, 1);
    },
  });
  new Gauge({
    ...defined({
      name: "serverless_ccm_platform_open",
      type: "gauge",
      help: "1 while the function is not invoked but on trial, as the platform refuses or cannot be reached; by controller.",
      labelNames: ["function"],
    }),
    registers,
    collect() {
      this.reset();
      for (const [name, { open }] of Object.entries(status().functions))
        this.set({ function: name }, Number(open));
    },
  });
  new Gauge({
    ...defined({
      name: "serverless_ccm_waiting_invocations",
      type: "gauge",
      help: "Controllers of clusters that wait for leave to invoke.",
      labelNames: [],
    }),
    registers,
    collect() {
      this.set(status().waiting);
    },
  });
}
