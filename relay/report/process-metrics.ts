import { collectDefaultMetrics, Gauge, Registry } from "prom-client";

/** Metrics as they are served. */
export interface ServedMetrics {
  readonly contentType: string;
  /** In Prometheus' text format. */
  text(): Promise<string>;
}

/**
 * The metrics of the process itself: prom-client's (`process_…`, `nodejs_…`), and which version runs. One for a process: what a thread
 * would say of itself is said of all. A relay says which deployment's functions it invokes, so that a missing one is missed whatever
 * others there are.
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

/** Several whose names differ, one after another. */
export function servedTogether(first: ServedMetrics, ...others: readonly ServedMetrics[]): ServedMetrics {
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
