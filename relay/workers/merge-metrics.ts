import {
  AggregatorRegistry,
  type MetricObjectWithValues,
  type MetricValue,
  type Registry,
} from "prom-client";
import type { Metrics } from "#relay/workers/messages.ts";

/** What a process, or a thread, says of itself: that of the main thread stands for all. */
const OF_A_PROCESS = /^(process|nodejs)_/;

/**
 * Puts together, in Prometheus' text format, what the main thread knows and what the workers have counted. Gauges are the main thread's
 * alone: it knows how clusters fare whose worker cannot be asked.
 */
export async function mergeMetrics(own: readonly Metrics[], workers: readonly Metrics[]): Promise<string> {
  return merged(own, workers).metrics();
}

/** The same as plain data. */
export function mergeValues(own: readonly Metrics[], workers: readonly Metrics[]): Promise<MergedMetrics> {
  return merged(own, workers).getMetricsAsJSON();
}

type MergedMetrics = MetricObjectWithValues<MetricValue<string>>[];

function merged(own: readonly Metrics[], workers: readonly Metrics[]): Registry {
  const counted = workers.map((metrics) =>
    metrics.filter(({ name, type }) => !isGauge(type) && !OF_A_PROCESS.test(name)),
  );
  return AggregatorRegistry.aggregate([...own, ...counted].map((metrics) => [...metrics]));
}

/** The types say that it is a number; it is a word. */
function isGauge(type: unknown): boolean {
  return type === "gauge";
}
