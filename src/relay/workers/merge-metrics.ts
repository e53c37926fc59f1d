import {
  AggregatorRegistry,
  type MetricObjectWithValues,
  type MetricValue,
  type Registry,
} from "prom-client";
import type { Metrics } from "#relay/workers/messages.ts";

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
