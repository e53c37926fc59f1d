import { collectDefaultMetrics, Gauge, Registry } from "prom-client";

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
