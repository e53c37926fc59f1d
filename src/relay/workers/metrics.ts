import {
  AggregatorRegistry,
  Counter,
  Gauge,
  type MetricObjectWithValues,
  type MetricValue,
  Registry,
} from "prom-client";
import type { MetricDefinition } from "#relay/report/metric.ts";
import type { Metrics } from "#relay/workers/messages.ts";
import type { DeathReason } from "#relay/workers/running-worker.ts";

/** The metrics of a pool itself, with their own registry. */
export interface WorkerMetrics {
  /** All metrics, in the order of the text. */
  readonly definitions: readonly MetricDefinition[];
  died(reason: DeathReason): void;
  /** Sets where gauges read the state. */
  follow(state: () => WorkersState): void;
  text(): Promise<string>;
  values(): Promise<Metrics>;
}

export interface WorkersState {
  readonly workers: number;
  /** By cluster, whether it is in quarantine. */
  readonly quarantined: ReadonlyMap<string, boolean>;
}

/** Creates the metrics of a pool. */
export function createWorkerMetrics(): WorkerMetrics {
  const registry = new Registry();
  const registers = [registry];
  let state = (): WorkersState => ({ workers: 0, quarantined: new Map() });

  new Gauge({
    ...WORKERS,
    registers,
    collect() {
      this.set(state().workers);
    },
  });
  new Gauge({
    ...QUARANTINED,
    registers,
    collect() {
      this.reset();
      for (const [cluster, is] of state().quarantined) this.set({ cluster }, Number(is));
    },
  });
  const restarts = new Counter({ ...RESTARTS, registers });

  return {
    definitions: [WORKERS, QUARANTINED, RESTARTS],
    died: (reason) => restarts.inc({ reason }),
    follow(read) {
      state = read;
    },
    text: () => registry.metrics(),
    values: () => registry.getMetricsAsJSON(),
  };
}

const WORKERS = {
  name: "serverless_ccm_workers",
  type: "gauge",
  help: "Worker threads that run.",
  labelNames: [],
} as const satisfies MetricDefinition;

const QUARANTINED = {
  name: "serverless_ccm_cluster_quarantined",
  type: "gauge",
  help: "1 while the cluster runs in a worker of its own, because it ended its worker repeatedly.",
  labelNames: ["cluster"],
} as const satisfies MetricDefinition;

const RESTARTS = {
  name: "serverless_ccm_worker_restarts_total",
  type: "counter",
  help: "Workers that ended unexpectedly, by reason.",
  labelNames: ["reason"],
} as const satisfies MetricDefinition;

/** The metrics of a process: the main thread's values represent all threads. */
const OF_A_PROCESS = /^(process|nodejs)_/;

/**
 * Merges the metrics of the main thread and the workers in Prometheus' text format. Gauges come from the main
 * thread only, which knows the state of clusters even if their worker does not answer.
 */
export async function mergeMetrics(own: readonly Metrics[], workers: readonly Metrics[]): Promise<string> {
  return mergeRegistries(own, workers).metrics();
}

/** Merges the metrics of the main thread and the workers as plain data. */
export function mergeValues(own: readonly Metrics[], workers: readonly Metrics[]): Promise<MergedMetrics> {
  return mergeRegistries(own, workers).getMetricsAsJSON();
}

type MergedMetrics = MetricObjectWithValues<MetricValue<string>>[];

function mergeRegistries(own: readonly Metrics[], workers: readonly Metrics[]): Registry {
  const counted = workers.map((metrics) =>
    metrics.filter(({ name, type }) => !isGauge(type) && !OF_A_PROCESS.test(name)),
  );
  return AggregatorRegistry.aggregate([...own, ...counted].map((metrics) => [...metrics]));
}

/** The library's type says number, but the value is a string. */
function isGauge(type: unknown): boolean {
  return type === "gauge";
}
