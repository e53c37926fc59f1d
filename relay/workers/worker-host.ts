import type { Cluster } from "#config/cluster.ts";
import { createStops } from "#config/switch/follow-stops.ts";
import type { Watch } from "#core/controller.ts";
import type { Stop } from "#core/stop.ts";
import type { Invoker } from "#delivery/invoker.ts";
import type { Transport } from "#kube/client/transport.ts";
import type { PlatformHealth } from "#relay/delivery/platform-health.ts";
import type { FollowedCluster } from "#relay/followed-cluster.ts";
import { type Relay, type RelayOptions, startRelay } from "#relay/relay.ts";
import { createRelayMetrics, type RelayMetrics } from "#relay/report/metrics.ts";
import { createHandling } from "#relay/workers/handling.ts";
import { createLogBatches } from "#relay/workers/log-batches.ts";
import type { FromWorker, LogLine, ToWorker, WorkerStart } from "#relay/workers/messages.ts";
import { createRemoteGate } from "#relay/workers/remote-gate.ts";
import { createRemoteHealth } from "#relay/workers/remote-health.ts";
import { tellStatus } from "#relay/workers/status-changes.ts";

/** A worker's way to the main thread; Node's `parentPort` is one. */
export interface MainPort {
  postMessage(message: FromWorker): void;
  on(event: "message", listener: (message: ToWorker) => void): unknown;
  close(): void;
}

/** Keeps one cluster of the relay in line with what is wanted of it. */
export interface Keeper {
  /** Resolves when that is so, or is overtaken. */
  want(cluster: Cluster | undefined): Promise<void>;
}

/** What keeping clusters takes. */
export interface KeepOptions {
  readonly relay: Pick<Relay, "add" | "remove" | "setConfigurationFault">;
  readonly connect: (cluster: Cluster) => Promise<Transport>;
  readonly log: (line: LogLine) => void;
  /** Nothing is added any more once it fires. */
  readonly signal: AbortSignal;
}

/** What a worker gives to what works in it. */
export interface WorkerParts {
  /** The same transport; should the worker die of what comes of it, that was the cluster's doing. */
  readonly mark: (transport: Transport, cluster: Cluster) => Transport;
  readonly log: (line: LogLine) => void;
  /** What operators have stopped for a cluster, as the main thread has read it. */
  readonly stopOf: (cluster: string) => Promise<Stop | undefined>;
  /** Of the platform, which the main thread knows. */
  readonly health: PlatformHealth;
  readonly metrics: Pick<RelayMetrics, "fellBack">;
}

/** What works in a worker. */
export interface WorkerWork {
  readonly invoker: Invoker;
  readonly keep: (name: string, options: KeepOptions) => Keeper;
  /** What goes on beside the relay. */
  readonly beside?: { stop(): void; close(): Promise<void> } | undefined;
  /** By cluster, what a sweep beside the relay has found. */
  readonly overdue?: (() => ReadonlyMap<string, number>) | undefined;
  /** What spans of the relay's own writes go to; nothing is traced without it. */
  readonly tracer?: RelayOptions["tracer"];
}

export interface WorkerHostOptions {
  readonly port: MainPort;
  readonly start: WorkerStart;
  readonly work: (parts: WorkerParts) => WorkerWork;
  readonly connect: (cluster: Cluster) => Promise<Transport>;
  /** Tells this worker's events from those of any other. */
  readonly identity: string;
  readonly nodeStatusUpdateFrequencySeconds: number;
  /** The controllers that there are; those of this build without it. */
  readonly watches?: readonly Watch[] | undefined;
  /** What sweeps clusters that the relay alone can reach; without it they are not swept. */
  readonly sweeps?: (options: {
    readonly metrics: Pick<RelayMetrics, "followSweep">;
    readonly log: (line: LogLine) => void;
  }) => NonNullable<RelayOptions["sweep"]>;
}

type Want = Extract<ToWorker, { readonly kind: "want" }>;

/** Runs a relay in a worker: the clusters are those that the main thread wants, and what they do is told to it. */
export function startWorkerHost(options: WorkerHostOptions): void {
  const { port } = options;
  const post = (message: FromWorker): void => port.postMessage(message);
  const gate = createRemoteGate(post);
  const health = createRemoteHealth(post);
  const handling = createHandling(options.start.handling);
  const log = createLogBatches((lines, dropped) => post({ kind: "log", lines, dropped }));
  const metrics = createRelayMetrics(options.watches);
  const indexes = new Map<string, number>();
  const keepers = new Map<string, Keeper>();
  const turns = new Map<string, number>();
  const known = new Set<string>();
  const stopping = new AbortController();
  // The main thread says otherwise before it wants anything, where there is a switch.
  const stops = createStops({ stopped: [] });

  function handled(name: string): void {
    const index = indexes.get(name);
    if (index !== undefined) handling.begin(index);
  }

  const { invoker, keep, beside, overdue, tracer } = options.work({
    ...{ mark, log: log.add, health, metrics },
    stopOf: async (name) => stops.of(name),
  });
  const found = overdue === undefined ? [] : [overdue];

  function mark(transport: Transport, { name }: Cluster): Transport {
    return handling.take(transport, indexes.get(name) ?? 0);
  }

  const relay = startRelay({
    clusters: [],
    gate,
    invoker: {
      close: () => invoker.close(),
      invoke(event, signal) {
        handled(event.cluster);
        return invoker.invoke(event, signal);
      },
    },
    // How clusters fare the main thread knows of those too whose worker cannot be asked.
    metrics: { ...metrics, follow: () => {} },
    vouches: true,
    identity: options.identity,
    nodeStatusUpdateFrequencySeconds: options.nodeStatusUpdateFrequencySeconds,
    onHandle: handled,
    onOutcome: log.add,
    watches: options.watches,
    // What is found is told with how clusters fare: gauges are the main thread's.
    sweep: options.sweeps?.({ metrics: { followSweep: (read) => void found.push(read) }, log: log.add }),
    ...{ stops, tracer },
  });
  const statusOf = (): readonly FollowedCluster[] => {
    const all = new Map(found.flatMap((read) => [...read()]));
    return relay.status().map((each) => ({ ...each, overdue: all.get(each.name) }));
  };
  const status = tellStatus(statusOf, (changed, gone) => post({ kind: "status", changed, gone }));

  async function connect(cluster: Cluster): Promise<Transport> {
    return mark(await options.connect(cluster), cluster);
  }

  async function want({ name, turn, cluster, index, isKnown }: Want): Promise<void> {
    indexes.set(name, index);
    turns.set(name, turn);
    if (isKnown) known.add(name);
    const keeper = keepers.get(name) ?? keep(name, { relay, connect, log: say, signal: stopping.signal });
    keepers.set(name, keeper);
    await keeper.want(cluster);
    if (cluster === undefined && turns.get(name) === turn) {
      keepers.delete(name);
      known.delete(name);
      status.look();
    }
    post({ kind: "settled", name, turn });
  }

  /** That a cluster comes into this worker is no news where it was in another one before. */
  function say(line: LogLine): void {
    const name = String(line["cluster"]);
    if (line["event"] === "SignInUnusable") known.delete(name);
    if (!(known.has(name) && line["event"] === "ClusterAdded")) log.add(line);
  }

  async function drain(): Promise<void> {
    stopping.abort();
    beside?.stop();
    // Whoever waits for it has the time limit.
    await relay.drain(new AbortController().signal);
    log.flush();
    status.look();
    post({ kind: "drained" });
  }

  async function close(): Promise<void> {
    stopping.abort();
    status.stop();
    await beside?.close();
    await relay.close();
    await invoker.close();
    log.close();
    port.close();
  }

  port.on("message", (message) => {
    switch (message.kind) {
      case "want":
        void want(message);
        break;
      case "stops":
        stops.set(message.read);
        break;
      case "ping":
        post({ kind: "pong" });
        break;
      case "ask-metrics":
        void metrics.values().then((values) => post({ kind: "metrics", id: message.id, metrics: values }));
        break;
      case "platform":
        health.receive(message.failing);
        break;
      case "drain":
        void drain();
        break;
      case "close":
        void close();
        break;
      default:
        gate.receive(message);
    }
  });
  post({ kind: "ready" });
}
