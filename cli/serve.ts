import { randomBytes } from "node:crypto";
import { listenError } from "#cli/listen-error.ts";
import { privateSweeps } from "#cli/private-sweeps.ts";
import type { ServingSettings } from "#cli/settings.ts";
import type { ProcessTracing } from "#cli/start-tracing.ts";
import type { FollowedSwitch } from "#cli/stop-switch.ts";
import type { ControllerName } from "#core/event.ts";
import { logText } from "#core/log-text.ts";
import type { Invoker } from "#delivery/invoker.ts";
import { systemClock } from "#kube/follow/clock.ts";
import {
  checkPlatform,
  type PlatformCheckOptions,
  type PlatformState,
} from "#relay/delivery/check-platform.ts";
import { createGate } from "#relay/delivery/create-gate.ts";
import { type Relay, type RelayCluster, startRelay } from "#relay/relay.ts";
import { createFleetMetrics } from "#relay/report/fleet-metrics.ts";
import { createRelayMetrics, type RelayMetrics } from "#relay/report/metrics.ts";
import { createProcessMetrics, servedTogether } from "#relay/report/process-metrics.ts";
import { withSlowed } from "#relay/report/slowed.ts";
import { startRelayServer } from "#relay/server.ts";
import type { Shard } from "#relay/sharding/shard.ts";
import { createShardMetrics } from "#relay/sharding/shard-metrics.ts";
import packageJson from "../package.json" with { type: "json" };

/** What a relay process has; `serve` closes the invoker and, with the relay, the transports when it ends. */
export interface ServeOptions {
  /** To begin with. */
  readonly clusters: readonly RelayCluster[];
  /** Changes them from now on; what it started ends with `stop`. */
  readonly follow?: (relay: Relay) => ClustersFollower;
  readonly invoker: Invoker;
  /** Starts what sweeps the clusters beside the relay. */
  readonly sweep?: ((metrics: Pick<RelayMetrics, "followSweep">) => Sweeping) | undefined;
  readonly serving: ServingSettings;
  /** Where functions are invoked over a network, whether they could be. */
  readonly dryRun?: PlatformCheckOptions["dryRun"];
  /** Starts to see which functions the platform does not run now, where this process handles their events then. */
  readonly fallback?: (
    relay: Pick<Relay, "status">,
    metrics: Pick<RelayMetrics, "fellBack">,
  ) => () => readonly ControllerName[];
  /** Of the clusters, where other replicas follow the rest; it is left before anything else ends. */
  readonly shard?: Shard | undefined;
  /** What operators have stopped; nothing without it. It is read until the end. */
  readonly stops?: FollowedSwitch | undefined;
  /** What spans of the relay's own writes go to; nothing is traced without it. */
  readonly tracer?: ProcessTracing["tracer"];
}

/** What sweeps clusters now and then. */
export interface Sweeping {
  /** Nothing new starts any more. */
  stop(): void;
  /** What is in flight is given up; resolves when nothing of it goes on. */
  close(): Promise<void>;
}

/** What changes the clusters of a relay. */
export interface ClustersFollower {
  /** Whether the home could not be read when it was last looked at. */
  isUnreadable(): boolean;
  /** Whether it says that there are no clusters. */
  hasNoClusters(): boolean;
  /** Nothing is added or changed any more. */
  stop(): void;
  /** Resolves when, after `stop`, nothing of it goes on; where something is still in flight, not before the relay is closed. */
  readonly stopped: Promise<void>;
}

/** How long what is in flight may take to finish after SIGTERM; a function's own time-out is 30 s. */
export const DRAIN_TIMEOUT_MS = 35_000;

/** Runs a relay until SIGTERM or SIGINT, then lets what is in flight finish; a second signal ends it at once. */
export async function serve({
  clusters,
  follow,
  invoker,
  sweep,
  serving,
  dryRun,
  shard,
  stops,
  fallback,
  tracer,
}: ServeOptions): Promise<void> {
  const metrics = createRelayMetrics();
  const gate = createGate({ clock: systemClock, random: Math.random, partOf: partOfQuotas(serving, shard) });
  metrics.followGate(gate.status);
  const swept = sweptTogether(metrics);
  const relay = startRelay({
    clusters,
    gate,
    invoker,
    metrics,
    vouches: true,
    identity: randomBytes(4).toString("hex"),
    nodeStatusUpdateFrequencySeconds: serving.nodeStatusUpdateFrequencySeconds,
    onOutcome: log,
    sweep: privateSweeps({ metrics: swept, log }),
    ...{ stops, tracer },
  });
  const failing = fallback?.(relay, metrics);
  if (failing !== undefined) metrics.followFallback(failing);
  const follower = follow?.(relay);
  const sweeping = sweep?.(swept);
  if (follower !== undefined) metrics.followHome(follower.isUnreadable);
  await serveUntilSignal({
    relay: { drain: relay.drain, status: withSlowed(relay.status, gate.status) },
    metrics,
    serving,
    dryRun,
    shard,
    failing,
    clusters: clusters.length,
    hasNoClusters: follower?.hasNoClusters,
    stop() {
      follower?.stop();
      sweeping?.stop();
    },
    async close() {
      await sweeping?.close();
      await relay.close();
      stops?.close();
      await Promise.all([invoker.close(), follower?.stopped]);
    },
  });
}

/** What of an account's quotas is this process's: its part of what the replicas have together that share the clusters. */
export function partOfQuotas(
  { quotaPart }: Pick<ServingSettings, "quotaPart">,
  shard: Pick<Shard, "partOf"> | undefined,
): (quotaKey: string) => number {
  return (quotaKey) => quotaPart * (shard?.partOf(quotaKey) ?? 1);
}

/** Several that sweep, each its own clusters. */
function sweptTogether(metrics: Pick<RelayMetrics, "followSweep">): Pick<RelayMetrics, "followSweep"> {
  const all: (() => ReadonlyMap<string, number>)[] = [];
  return {
    followSweep(overdue) {
      all.push(overdue);
      if (all.length === 1) metrics.followSweep(() => new Map(all.flatMap((read) => [...read()])));
    },
  };
}

/** A relay that runs, wherever its clusters live. */
export interface Served extends Pick<ServeOptions, "serving"> {
  readonly relay: Pick<Relay, "status" | "drain">;
  readonly metrics: Pick<RelayMetrics, "text" | "values" | "contentType" | "followPlatform">;
  readonly dryRun: ServeOptions["dryRun"] | undefined;
  readonly shard?: Shard | undefined;
  /** The controllers whose events this process handles, as the platform fails. */
  readonly failing?: (() => readonly ControllerName[]) | undefined;
  /** How many it began with. */
  readonly clusters: number;
  /** Whether their home says that there are none; not asked for where flags describe one. */
  readonly hasNoClusters?: (() => boolean) | undefined;
  /** Nothing is added or changed any more. */
  stop(): void;
  /** Ends everything at once. */
  close(): Promise<void>;
}

/** Serves its endpoints until SIGTERM or SIGINT, and ends it then. */
export async function serveUntilSignal(served: Served): Promise<void> {
  const { relay, metrics, serving, dryRun, shard } = served;
  // Before anything is said: whoever reads it may end the relay at once.
  const { first, second } = endingSignals();
  const platform = dryRun && checkPlatform({ dryRun, controllers: () => controllersOf(relay.status()), log });
  if (platform !== undefined) metrics.followPlatform(platform.state);
  try {
    const server = await startRelayServer({
      relay,
      metrics: servedTogether(
        serving.metricsDetail === "fleet" ? createFleetMetrics(metrics) : metrics,
        ...(shard === undefined ? [] : [createShardMetrics(shard.status)]),
        createProcessMetrics(packageJson.version, serving.functionPrefix),
      ),
      values: metrics.values,
      platform: platform && (() => stateOf(platform.state(), served.failing?.() ?? [])),
      shard: shard?.status,
      hasNoClusters: served.hasNoClusters,
      bindAddress: serving.bindAddress,
      port: serving.port,
      allowedHosts: serving.allowedHosts,
    }).catch((error: unknown) => {
      throw listenError(error, serving.bindAddress, serving.port);
    });
    log({ level: "info", event: "Serving", url: server.url, clusters: served.clusters });
    const signal = await first;
    log({ level: "info", event: "Draining", signal });
    served.stop();
    // The others begin while this one finishes.
    await shard?.leave();
    const finished = await relay.drain(AbortSignal.any([AbortSignal.timeout(DRAIN_TIMEOUT_MS), second]));
    log({ level: finished ? "info" : "warn", event: "Drained", finished });
    await server.close();
  } finally {
    served.stop();
    await Promise.all([served.close(), platform?.close(), shard?.leave()]);
  }
}

/** Work that is done in this process is done, whatever the platform does. */
function stateOf(
  state: PlatformState | undefined,
  failing: readonly ControllerName[],
): PlatformState | undefined {
  if (failing.length === 0 || state?.reachable !== false) return state;
  return { reachable: true, message: `this process handles events by itself: ${state.message}` };
}

function controllersOf(clusters: ReturnType<Relay["status"]>): ControllerName[] {
  return clusters.flatMap(({ controllers }) => controllers.map(({ name }) => name));
}

/** Writes one line of JSON to standard error, where programs of this kind log. */
export function log(line: Readonly<Record<string, unknown>>): void {
  process.stderr.write(`${logText(line, new Date())}\n`);
}

/** The first ends the relay in good order, the second at once; there is no moment between them at which a signal would kill it. */
function endingSignals(): { readonly first: Promise<string>; readonly second: AbortSignal } {
  const second = new AbortController();
  const first = new Promise<string>((resolve) => {
    let count = 0;
    const onSignal = (signal: string): void => {
      count += 1;
      resolve(signal);
      if (count < 2) return;
      second.abort();
      for (const each of ENDING) process.off(each, onSignal);
    };
    for (const each of ENDING) process.on(each, onSignal);
  });
  return { first, second: second.signal };
}

const ENDING = ["SIGTERM", "SIGINT"] as const;
