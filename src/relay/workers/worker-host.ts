import type { Cluster } from "#config/cluster.ts";
import { createStops } from "#config/switch/follow-stops.ts";
import type { Stop } from "#core/stop.ts";
import type { Watch } from "#core/watch.ts";
import type { Transport } from "#kube/client/transport.ts";
import type { Invoker } from "#platforms/invoker.ts";
import type { ClusterState } from "#relay/cluster-state.ts";
import type { PlatformHealth } from "#relay/delivery/platform-health.ts";
import { type Relay, type RelayOptions, startRelay } from "#relay/relay.ts";
import { createRelayMetrics, type RelayMetrics } from "#relay/report/metrics.ts";
import { createHandledCluster } from "#relay/workers/handled-cluster.ts";
import {
  createLogBatches,
  createRemoteHealth,
  type FromWorker,
  type LogLine,
  type ToWorker,
  type WorkerStart,
} from "#relay/workers/messages.ts";
import { createRemoteLimiter } from "#relay/workers/remote-limiter.ts";

/** A worker's channel to the main thread; Node's `parentPort` implements it. */
export interface MainPort {
  postMessage(message: FromWorker): void;
  on(event: "message", listener: (message: ToWorker) => void): unknown;
  close(): void;
}

/** Brings one cluster of the relay to its desired state. */
export interface ClusterKeeper {
  /** Resolves when the desired state is reached or replaced. */
  setDesiredState(cluster: Cluster | undefined): Promise<void>;
}

/** The dependencies of keeping clusters in their desired state. */
export interface KeepOptions {
  readonly relay: Pick<Relay, "add" | "remove" | "setConfigurationFault">;
  readonly connect: (cluster: Cluster) => Promise<Transport>;
  readonly log: (line: LogLine) => void;
  /** No cluster is added after it fires. */
  readonly signal: AbortSignal;
}

/** What a worker provides to the code that runs in it. */
export interface WorkerParts {
  /** Returns the transport so that, if the worker dies of its data, the cluster counts as the culprit. */
  readonly mark: (transport: Transport, cluster: Cluster) => Transport;
  readonly log: (line: LogLine) => void;
  /** Returns what operators have stopped for a cluster, as the main thread has read it. */
  readonly readStop: (cluster: string) => Promise<Stop | undefined>;
  /** The platform's health, which the main thread determines. */
  readonly health: PlatformHealth;
  readonly metrics: Pick<RelayMetrics, "fellBack">;
}

/** The code that runs in a worker. */
export interface WorkerWork {
  readonly invoker: Invoker;
  readonly keep: (name: string, options: KeepOptions) => ClusterKeeper;
  /** Runs next to the relay. */
  readonly companion?: { stop(): void; close(): Promise<void> } | undefined;
  /** The results of a sweep that runs next to the relay, by cluster. */
  readonly overdue?: (() => ReadonlyMap<string, number>) | undefined;
  /** Receives the spans of the relay's own writes; without it nothing is traced. */
  readonly tracer?: RelayOptions["tracer"];
}

export interface WorkerHostOptions {
  readonly port: MainPort;
  readonly start: WorkerStart;
  readonly work: (parts: WorkerParts) => WorkerWork;
  readonly connect: (cluster: Cluster) => Promise<Transport>;
  /** Distinguishes this worker's events from those of others. */
  readonly identity: string;
  readonly nodeStatusUpdateFrequencySeconds: number;
  /** The controllers to run; defaults to those of this build. */
  readonly watches?: readonly Watch[] | undefined;
  /** Sweeps clusters that only the relay can reach; without it they are not swept. */
  readonly sweeps?: (options: {
    readonly metrics: Pick<RelayMetrics, "followSweep">;
    readonly log: (line: LogLine) => void;
  }) => NonNullable<RelayOptions["sweep"]>;
}

type DesiredStateMessage = Extract<ToWorker, { readonly kind: "desired-state" }>;

/** Runs a relay in a worker: the main thread sets its clusters and receives its reports. */
export function startWorkerHost(options: WorkerHostOptions): void {
  const { port } = options;
  const post = (message: FromWorker): void => port.postMessage(message);
  const limiter = createRemoteLimiter(post);
  const health = createRemoteHealth(post);
  const handledCluster = createHandledCluster(options.start.handledCluster);
  const log = createLogBatches((lines, dropped) => post({ kind: "log", lines, dropped }));
  const metrics = createRelayMetrics(options.watches);
  const indexes = new Map<string, number>();
  const keepers = new Map<string, ClusterKeeper>();
  const generations = new Map<string, number>();
  const known = new Set<string>();
  const stopping = new AbortController();
  // If there is a stop switch, the main thread sends its state before any cluster.
  const stops = createStops({ stopped: [] });

  function handled(name: string): void {
    const index = indexes.get(name);
    if (index !== undefined) handledCluster.begin(index);
  }

  const { invoker, keep, companion, overdue, tracer } = options.work({
    ...{ mark, log: log.add, health, metrics },
    readStop: async (name) => stops.get(name),
  });
  const found = overdue === undefined ? [] : [overdue];

  function mark(transport: Transport, { name }: Cluster): Transport {
    return handledCluster.wrapTransport(transport, indexes.get(name) ?? 0);
  }

  const relay = startRelay({
    clusters: [],
    limiter,
    invoker: {
      close: () => invoker.close(),
      invoke(event, signal) {
        handled(event.cluster);
        return invoker.invoke(event, signal);
      },
    },
    // The main thread exports the state of clusters, including those whose worker does not answer.
    metrics: { ...metrics, follow: () => {} },
    sendsHeartbeats: true,
    identity: options.identity,
    nodeStatusUpdateFrequencySeconds: options.nodeStatusUpdateFrequencySeconds,
    onHandle: handled,
    onOutcome: log.add,
    watches: options.watches,
    // The main thread's gauges need the result, so it travels with the clusters' status.
    sweep: options.sweeps?.({ metrics: { followSweep: (read) => void found.push(read) }, log: log.add }),
    ...{ stops, tracer },
  });
  const statusOf = (): readonly ClusterState[] => {
    const all = new Map(found.flatMap((read) => [...read()]));
    return relay.status().map((each) => ({ ...each, overdue: all.get(each.name) }));
  };
  const status = tellStatus(statusOf, (changed, gone) => post({ kind: "status", changed, gone }));

  async function connect(cluster: Cluster): Promise<Transport> {
    return mark(await options.connect(cluster), cluster);
  }

  async function setDesiredState({
    name,
    generation,
    cluster,
    index,
    isKnown,
  }: DesiredStateMessage): Promise<void> {
    indexes.set(name, index);
    generations.set(name, generation);
    if (isKnown) known.add(name);
    const keeper = keepers.get(name) ?? keep(name, { relay, connect, log: say, signal: stopping.signal });
    keepers.set(name, keeper);
    await keeper.setDesiredState(cluster);
    if (cluster === undefined && generations.get(name) === generation) {
      keepers.delete(name);
      known.delete(name);
      status.look();
    }
    post({ kind: "settled", name, generation });
  }

  /** The start of a cluster that ran in another worker before is not logged. */
  function say(line: LogLine): void {
    const name = String(line["cluster"]);
    if (line["event"] === "SignInUnusable") known.delete(name);
    if (!(known.has(name) && line["event"] === "ClusterAdded")) log.add(line);
  }

  async function drain(): Promise<void> {
    stopping.abort();
    companion?.stop();
    // The caller sets the time limit.
    await relay.drain(new AbortController().signal);
    log.flush();
    status.look();
    post({ kind: "drained" });
  }

  async function close(): Promise<void> {
    stopping.abort();
    status.stop();
    await companion?.close();
    await relay.close();
    await invoker.close();
    log.close();
    port.close();
  }

  port.on("message", (message) => {
    switch (message.kind) {
      case "desired-state":
        void setDesiredState(message);
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
        limiter.receive(message);
    }
  });
  post({ kind: "ready" });
}

/** Reports changes of the clusters' status. */
interface StatusChanges {
  /** Checks now. */
  look(): void;
  stop(): void;
}

/** Probes are answered from the last report. */
const EVERY_MS = 250;

/** Checks a few times a second, and reports clusters whose status has changed. */
export function tellStatus(
  read: () => readonly ClusterState[],
  tell: (changed: readonly ClusterState[], gone: readonly string[]) => void,
  everyMs = EVERY_MS,
): StatusChanges {
  let reported = new Map<string, string>();

  function look(): void {
    const now = new Map<string, string>();
    const changed: ClusterState[] = [];
    for (const status of read()) {
      const text = JSON.stringify(status);
      now.set(status.name, text);
      if (reported.get(status.name) !== text) changed.push(status);
    }
    const gone = [...reported.keys()].filter((name) => !now.has(name));
    reported = now;
    if (changed.length > 0 || gone.length > 0) tell(changed, gone);
  }

  const timer = setInterval(look, everyMs).unref();
  return { look, stop: () => clearInterval(timer) };
}
