import { randomBytes } from "node:crypto";
import type { FollowedSwitch } from "#cli/deletion/stop-switch.ts";
import type { ServingSettings } from "#cli/relay/serving-settings.ts";
import type { ProcessTracing } from "#cli/relay/start-tracing.ts";
import { createPrivateSweeps, type Sweeping } from "#cli/run/sweep-every-minute.ts";
import type { ControllerName } from "#core/event.ts";
import { logText } from "#core/log-text.ts";
import { getSystemCode } from "#kube/client/errors.ts";
import { systemClock } from "#kube/follow/clock.ts";
import type { Invoker } from "#platforms/invoker.ts";
import { markSlowedClusters } from "#relay/cluster-state.ts";
import {
  checkPlatform,
  type PlatformCheckOptions,
  type PlatformState,
} from "#relay/delivery/check-platform.ts";
import { createInvocationLimiter } from "#relay/delivery/create-invocation-limiter.ts";
import { type Relay, type RelayCluster, startRelay } from "#relay/relay.ts";
import { createFleetMetrics } from "#relay/report/fleet-metrics.ts";
import { createProcessMetrics, mergeServedMetrics } from "#relay/report/metric.ts";
import { createRelayMetrics, type RelayMetrics } from "#relay/report/metrics.ts";
import { startRelayServer } from "#relay/server.ts";
import type { Shard } from "#relay/sharding/shard.ts";
import { createShardMetrics } from "#relay/sharding/shard-metrics.ts";
import packageJson from "../../../package.json" with { type: "json" };

/**
 * The parts of a relay process; `serve` closes the invoker and, with the relay, the transports when it ends.
 */
export interface ServeOptions {
  /** The clusters at the start. */
  readonly clusters: readonly RelayCluster[];
  /** Changes the clusters from then on; `stop` ends it. */
  readonly follow?: (relay: Relay) => ClustersFollower;
  readonly invoker: Invoker;
  /** Starts the sweep of the clusters. */
  readonly sweep?: ((metrics: Pick<RelayMetrics, "followSweep">) => Sweeping) | undefined;
  readonly serving: ServingSettings;
  /** Checks whether functions can be invoked, if that happens over a network. */
  readonly dryRun?: PlatformCheckOptions["dryRun"];
  /**
   * Starts to detect which functions the platform does not run, if this process then handles their events.
   */
  readonly fallback?: (
    relay: Pick<Relay, "status">,
    metrics: Pick<RelayMetrics, "fellBack">,
  ) => () => readonly ControllerName[];
  /** This replica's shard if other replicas follow the rest; it is left before anything else ends. */
  readonly shard?: Shard | undefined;
  /** What operators have stopped, read until the end; undefined means nothing. */
  readonly stops?: FollowedSwitch | undefined;
  /** Receives the spans of the relay's own writes; without it nothing is traced. */
  readonly tracer?: ProcessTracing["tracer"];
}

/** Changes the clusters of a relay. */
export interface ClustersFollower {
  /** Returns whether the last read of the registry failed. */
  isUnreadable(): boolean;
  /** Returns whether the registry lists no clusters. */
  hasNoClusters(): boolean;
  /** Stops adding and changing clusters. */
  stop(): void;
  /**
   * Resolves when nothing runs any more after `stop`; if something is still in flight, not before the relay
   * is closed.
   */
  readonly stopped: Promise<void>;
}

/** The time limit of draining after SIGTERM; a function's own timeout is 30 s. */
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
  const limiter = createInvocationLimiter({
    clock: systemClock,
    random: Math.random,
    partOf: createQuotaPart(serving, shard),
  });
  metrics.followLimiter(limiter.status);
  const swept = mergeSweeps(metrics);
  const relay = startRelay({
    clusters,
    limiter,
    invoker,
    metrics,
    sendsHeartbeats: true,
    identity: randomBytes(4).toString("hex"),
    nodeStatusUpdateFrequencySeconds: serving.nodeStatusUpdateFrequencySeconds,
    onOutcome: log,
    sweep: createPrivateSweeps({ metrics: swept, log }),
    ...{ stops, tracer },
  });
  const failing = fallback?.(relay, metrics);
  if (failing !== undefined) metrics.followFallback(failing);
  const follower = follow?.(relay);
  const sweeping = sweep?.(swept);
  if (follower !== undefined) metrics.followHome(follower.isUnreadable);
  await serveUntilSignal({
    relay: { drain: relay.drain, status: markSlowedClusters(relay.status, limiter.status) },
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

/** Returns this process's part of an account's quotas: its part of the share of all replicas. */
export function createQuotaPart(
  { quotaPart }: Pick<ServingSettings, "quotaPart">,
  shard: Pick<Shard, "partOf"> | undefined,
): (quotaKey: string) => number {
  return (quotaKey) => quotaPart * (shard?.partOf(quotaKey) ?? 1);
}

/** Merges several sweeps, each with its own clusters. */
function mergeSweeps(metrics: Pick<RelayMetrics, "followSweep">): Pick<RelayMetrics, "followSweep"> {
  const all: (() => ReadonlyMap<string, number>)[] = [];
  return {
    followSweep(overdue) {
      all.push(overdue);
      if (all.length === 1) metrics.followSweep(() => new Map(all.flatMap((read) => [...read()])));
    },
  };
}

/** A running relay, whose clusters run in any thread. */
export interface ServedRelay extends Pick<ServeOptions, "serving"> {
  readonly relay: Pick<Relay, "status" | "drain">;
  readonly metrics: Pick<RelayMetrics, "text" | "values" | "contentType" | "followPlatform">;
  readonly dryRun: ServeOptions["dryRun"] | undefined;
  readonly shard?: Shard | undefined;
  /** The controllers whose events this process handles because the platform fails. */
  readonly failing?: (() => readonly ControllerName[]) | undefined;
  /** The number of clusters at the start. */
  readonly clusters: number;
  /** Returns whether the registry lists no clusters; missing if flags describe one. */
  readonly hasNoClusters?: (() => boolean) | undefined;
  /** Stops adding and changing clusters. */
  stop(): void;
  /** Ends everything at once. */
  close(): Promise<void>;
}

/** Serves the endpoints until SIGTERM or SIGINT, and then ends the relay. */
export async function serveUntilSignal(served: ServedRelay): Promise<void> {
  const { relay, metrics, serving, dryRun, shard } = served;
  // Before the first output: its reader may end the relay at once.
  const { first, second } = watchEndingSignals();
  const platform =
    dryRun && checkPlatform({ dryRun, controllers: () => listControllers(relay.status()), log });
  if (platform !== undefined) metrics.followPlatform(platform.state);
  try {
    const server = await startRelayServer({
      relay,
      metrics: mergeServedMetrics(
        serving.metricsDetail === "fleet" ? createFleetMetrics(metrics) : metrics,
        ...(shard === undefined ? [] : [createShardMetrics(shard.status)]),
        createProcessMetrics(packageJson.version, serving.functionPrefix),
      ),
      values: metrics.values,
      platform: platform && (() => getServedState(platform.state(), served.failing?.() ?? [])),
      shard: shard?.status,
      hasNoClusters: served.hasNoClusters,
      bindAddress: serving.bindAddress,
      port: serving.port,
      allowedHosts: serving.allowedHosts,
    }).catch((error: unknown) => {
      throw toListenError(error, serving.bindAddress, serving.port);
    });
    log({ level: "info", event: "Serving", url: server.url, clusters: served.clusters });
    const signal = await first;
    log({ level: "info", event: "Draining", signal });
    served.stop();
    // The other replicas start while this one finishes.
    await shard?.leave();
    const finished = await relay.drain(AbortSignal.any([AbortSignal.timeout(DRAIN_TIMEOUT_MS), second]));
    log({ level: finished ? "info" : "warn", event: "Drained", finished });
    await server.close();
  } finally {
    served.stop();
    await Promise.all([served.close(), platform?.close(), shard?.leave()]);
  }
}

/** Work that this process handles itself does not depend on the platform. */
function getServedState(
  state: PlatformState | undefined,
  failing: readonly ControllerName[],
): PlatformState | undefined {
  if (failing.length === 0 || state?.reachable !== false) return state;
  return { reachable: true, message: `this process handles events by itself: ${state.message}` };
}

function listControllers(clusters: ReturnType<Relay["status"]>): ControllerName[] {
  return clusters.flatMap(({ controllers }) => controllers.map(({ name }) => name));
}

/** Writes one line of JSON to standard error, the usual log of such programs. */
export function log(line: Readonly<Record<string, unknown>>): void {
  process.stderr.write(`${logText(line, new Date())}\n`);
}

/**
 * Watches for signals: the first ends the relay cleanly, the second at once. No moment between them lets a
 * signal kill it.
 */
export function watchEndingSignals(): { readonly first: Promise<string>; readonly second: AbortSignal } {
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

/** What to do about each system error code. */
const WHAT_TO_DO: Readonly<Record<string, string>> = {
  EADDRINUSE: "is in use already; end what listens there, or give another --port (0 picks a free one)",
  EADDRNOTAVAIL: "is not an address of this machine; give --bind-address one that is",
  EACCES: "may not be listened on by this user; give --port one above 1023",
  ENOTFOUND: "cannot be resolved; give --bind-address an IP address",
};

/** Returns an error that says why the address cannot be bound and what to do; any other error unchanged. */
export function toListenError(error: unknown, bindAddress: string, port: number): unknown {
  const code = getSystemCode(error) ?? "";
  const words = WHAT_TO_DO[code];
  if (words === undefined) return error;
  return new Error(`${bindAddress} port ${port} ${words} (${code})`, { cause: error });
}
