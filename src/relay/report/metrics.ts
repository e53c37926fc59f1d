import {
  Counter,
  Gauge,
  Histogram,
  type LabelValues,
  type MetricObjectWithValues,
  type MetricValue,
  Registry,
} from "prom-client";
import { HELD_REASONS } from "#config/clusters-file.ts";
import type { Watch } from "#core/watch.ts";
import { WATCHES } from "#core/watches.ts";
import type { ControllerStatus } from "#relay/cluster-relay.ts";
import type { PlatformState } from "#relay/delivery/check-platform.ts";
import type { InvocationLimiterStatus } from "#relay/delivery/create-invocation-limiter.ts";
import type { FollowedCluster } from "#relay/followed-cluster.ts";
import { addLimiterMetrics } from "#relay/report/limiter-metrics.ts";
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
  follow(status: () => readonly FollowedCluster[]): void;
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
  let status: () => readonly FollowedCluster[] = () => [];

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
  const gauge = (word: string, help: string, labelNames: readonly string[], read: GaugeReader): Gauge =>
    new Gauge({
      ...defined({ name: `serverless_ccm_${word}`, type: "gauge", help, labelNames }),
      registers,
      collect() {
        this.reset();
        for (const each of status()) read(each, (labels, value) => this.set(labels, value));
      },
    });
  const controllerGauge = (name: string, help: string, read: (each: ControllerStatus) => number): Gauge =>
    gauge(name, help, ["cluster", "controller"], ({ name: cluster, controllers }, set) => {
      for (const each of controllers) set({ cluster, controller: each.name }, read(each));
    });

  gauge(
    "cluster_ready",
    "1 while the cluster's lists are complete and its watches open.",
    ["cluster"],
    ({ name: cluster, ready }, set) => set({ cluster }, Number(ready)),
  );
  gauge(
    "cluster_misconfigured",
    "1 while the cluster's entry or sign-in cannot be used as it is now.",
    ["cluster"],
    ({ name: cluster, configurationFault }, set) =>
      set({ cluster }, Number(configurationFault !== undefined)),
  );
  gauge(
    "cluster_held",
    "1 while the cluster's entry is held because of another one: SameOwnership, SameName.",
    ["cluster", "reason"],
    ({ name: cluster, configurationFault }, set) => {
      const reason = HELD_REASONS.find((each) => each === configurationFault?.code);
      if (reason !== undefined) set({ cluster, reason }, 1);
    },
  );
  gauge(
    "stopped",
    "1 while an operator has stopped this for the cluster; unproven: what is stopped is unreadable, and unproven deletions wait.",
    ["cluster", "what"],
    ({ name: cluster, stop: what }, set) => {
      if (what !== undefined) set({ cluster, what }, 1);
    },
  );
  gauge(
    "cluster_limited",
    "1 while the limit of the cluster is in force.",
    ["cluster", "limit"],
    ({ name: cluster, limited }, set) => {
      for (const { limit } of limited) set({ cluster, limit }, 1);
    },
  );
  controllerGauge("objects", "Objects that the API server lists.", (each) => each.objects);
  controllerGauge("pending_objects", "Objects that need work.", (each) => each.needed);
  controllerGauge("in_flight_objects", "Objects in flight.", (each) => each.inFlight);
  controllerGauge("in_flight_invocations", "Invocations in flight.", (each) => each.invocations);

  for (const { name: controller, metrics: { waiting } = {} } of watches) {
    if (waiting === undefined) continue;
    new Gauge({
      ...defined({
        name: waiting.metric,
        type: "gauge",
        help: waiting.help,
        labelNames: ["cluster", "reason", "age"],
      }),
      registers,
      collect() {
        this.reset();
        // Different codes may map to one label value.
        for (const { name: cluster, controllers } of status())
          for (const { reason, age, count } of controllers.find(({ name }) => name === controller)?.waiting ??
            [])
            this.inc({ cluster, reason: codes(reason), age }, count);
      },
    });
  }

  for (const { name: controller, metrics: { orphans: counted } = {} } of watches) {
    if (counted === undefined) continue;
    new Gauge({
      ...defined({ name: counted.metric, type: "gauge", help: counted.help, labelNames: ["cluster"] }),
      registers,
      collect() {
        this.reset();
        for (const { name: cluster, controllers } of status()) {
          const { orphans } = controllers.find(({ name }) => name === controller) ?? {};
          if (orphans !== undefined) this.set({ cluster }, orphans);
        }
      },
    });
  }

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

/** Reads a gauge's values for one cluster. */
type GaugeReader = (
  status: FollowedCluster,
  set: (labels: Record<string, string>, value: number) => void,
) => void;

function dropBucketLabel({
  le: _,
  ...labels
}: Partial<Record<string, string | number>>): LabelValues<string> {
  return labels as LabelValues<string>;
}
