import { collectDefaultMetrics, Gauge, Registry } from "prom-client";
import type { ClusterUsage } from "#core/report.ts";

/** A metric as the reference documents it. */
export interface MetricDefinition {
  readonly name: string;
  readonly type: "counter" | "gauge" | "histogram";
  readonly help: string;
  readonly labelNames: readonly string[];
}

/** The buckets of all histograms, in seconds; they resolve work below a second. */
export const DELAY_BUCKETS: readonly number[] = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 1024];

/** A code in this project's format; anything else may be text from outside. */
const CODE = /^[\w:.-]{1,100}$/;

/**
 * Returns a function that passes the first `maxValues` different codes, and maps all other values to `other`. Each
 * value is a series of its own, so their number needs a limit.
 */
export function createLabelLimit(maxValues: number): (value: string) => string {
  const values = new Set<string>();
  return (value) => {
    if (values.has(value)) return value;
    if (values.size >= maxValues || !CODE.test(value)) return "other";
    values.add(value);
    return value;
  };
}

/** Requests of functions to an API server, by the value of the label `kind`. */
export const USAGE_KINDS: readonly (readonly [string, (usage: ClusterUsage) => number])[] = [
  ["write", (usage) => usage.writes],
  ["read", (usage) => usage.reads],
  ["conflict", (usage) => usage.conflicts],
  ["throttled", (usage) => usage.throttled],
  ["event", (usage) => usage.events],
  ["event-dropped", (usage) => usage.eventsDropped],
];

/** Metrics as the endpoint serves them. */
export interface ServedMetrics {
  readonly contentType: string;
  /** Returns the metrics in Prometheus' text format. */
  text(): Promise<string>;
}

/**
 * Creates the metrics of the process itself: prom-client's (`process_…`, `nodejs_…`) and the version. There
 * is one set for a process, because a thread's values would describe the whole process.
 *
 * A relay names the deployment whose functions it invokes, so that an alert notices a missing relay whatever
 * others exist.
 */
export function createProcessMetrics(version: string, functionPrefix?: string): ServedMetrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const build = new Gauge({
    name: "serverless_ccm_build_info",
    help: "1, with the version of serverless-ccm and of Node, and of a relay the prefix of its functions' names.",
    labelNames: ["version", "node", "function_prefix"],
    registers: [registry],
  });
  build.set(
    {
      version,
      node: process.version,
      ...(functionPrefix === undefined ? {} : { function_prefix: functionPrefix }),
    },
    1,
  );
  return { contentType: registry.contentType, text: () => registry.metrics() };
}

/** Concatenates metrics whose names differ. */
export function mergeServedMetrics(first: ServedMetrics, ...others: readonly ServedMetrics[]): ServedMetrics {
  return {
    contentType: first.contentType,
    async text() {
      const texts = await Promise.all([first, ...others].map((each) => each.text()));
      return texts
        .map((text) => text.trimEnd())
        .join("\n\n")
        .concat("\n");
    },
  };
}
