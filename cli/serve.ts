import { randomBytes } from "node:crypto";
import type { ServingSettings } from "#cli/settings.ts";
import type { Invoker } from "#relay/delivery/invoker.ts";
import { type RelayCluster, startRelay } from "#relay/relay.ts";
import { createRelayMetrics } from "#relay/report/metrics.ts";
import { startRelayServer } from "#relay/server.ts";

/** What a relay process has; `serve` closes the invoker and the transports when it ends. */
export interface ServeOptions {
  readonly clusters: readonly RelayCluster[];
  readonly invoker: Invoker;
  readonly serving: ServingSettings;
}

/** How long what is in flight may take to finish after SIGTERM; a function's own time-out is 30 s. */
const DRAIN_TIMEOUT_MS = 35_000;

/** Runs a relay until SIGTERM or SIGINT, then lets what is in flight finish; a second signal ends it at once. */
export async function serve({ clusters, invoker, serving }: ServeOptions): Promise<void> {
  const metrics = createRelayMetrics();
  const relay = startRelay({
    clusters,
    invoker,
    metrics,
    identity: randomBytes(4).toString("hex"),
    nodeStatusUpdateFrequencySeconds: serving.nodeStatusUpdateFrequencySeconds,
    onOutcome: log,
  });
  const closeAll = async (): Promise<void> => {
    await relay.close();
    await Promise.all([invoker.close(), ...clusters.map(({ transport }) => transport.close())]);
  };
  try {
    const server = await startRelayServer({
      relay,
      metrics,
      bindAddress: serving.bindAddress,
      port: serving.port,
    });
    log({
      level: "info",
      event: "Serving",
      url: server.url,
      clusters: clusters.map(({ cluster }) => cluster.name),
    });
    const signal = await firstSignal();
    log({ level: "info", event: "Draining", signal });
    const finished = await relay.drain(
      AbortSignal.any([AbortSignal.timeout(DRAIN_TIMEOUT_MS), secondSignal()]),
    );
    log({ level: finished ? "info" : "warn", event: "Drained", finished });
    await server.close();
  } finally {
    await closeAll();
  }
}

/** Writes one line of JSON to standard error, where programs of this kind log. */
export function log(line: Readonly<Record<string, unknown>>): void {
  process.stderr.write(`${JSON.stringify({ time: new Date().toISOString(), ...line })}\n`);
}

function firstSignal(): Promise<string> {
  return new Promise((resolve) => {
    for (const signal of ["SIGTERM", "SIGINT"] as const) process.once(signal, () => resolve(signal));
  });
}

function secondSignal(): AbortSignal {
  const controller = new AbortController();
  for (const signal of ["SIGTERM", "SIGINT"] as const) process.once(signal, () => controller.abort());
  return controller.signal;
}
