import type { Cluster } from "#config/cluster.ts";
import type { Stops } from "#config/switch/follow-stops.ts";
import type { Stop } from "#core/stop.ts";
import type { Watch } from "#core/watch.ts";
import type { Transport } from "#kube/client/transport.ts";
import { type Clock, systemClock } from "#kube/follow/clock.ts";
import { createReadPermits } from "#kube/follow/read-permits.ts";
import type { Invoker } from "#platforms/invoker.ts";
import { type ClusterRelay, startClusterRelay } from "#relay/cluster-relay.ts";
import { type ClusterState, createUnfollowedState, type NotFollowedReason } from "#relay/cluster-state.ts";
import { createInvocationLimiter } from "#relay/delivery/create-invocation-limiter.ts";
import type { InvocationLimiter } from "#relay/delivery/invocation-limiter.ts";
import { createRefreshAllowance } from "#relay/delivery/refresh-allowance.ts";
import { createWritingInvoker } from "#relay/delivery/writing-invoker.ts";
import { createIssueTracker } from "#relay/report/issue-tracker.ts";
import { createLogLimit, type LogLimit } from "#relay/report/log-limit.ts";
import type { RelayMetrics } from "#relay/report/metrics.ts";
import { formatOutcomeLines, type OutcomeLine } from "#relay/report/outcome-line.ts";
import type { RelayNote } from "#relay/report/relay-note.ts";
import { createHeapTrimmer } from "#relay/trim-heap.ts";
import type { Tracer } from "#tracing/tracer.ts";

/** One cluster, with a transport to its API server that has the relay's identity. */
export interface RelayCluster {
  readonly cluster: Cluster;
  readonly transport: Transport;
}

export interface RelayOptions {
  /** The clusters at the start. */
  readonly clusters: readonly RelayCluster[];
  readonly invoker: Invoker;
  /** Shared by all clusters; the relay creates its own without it. */
  readonly limiter?: InvocationLimiter | undefined;
  /** Distinguishes this process's events from those of others; a few random characters. */
  readonly identity: string;
  /** How often the addresses of initialized nodes are compared; the stock flag's default is 300. */
  readonly nodeStatusUpdateFrequencySeconds: number;
  readonly metrics?: RelayMetrics | undefined;
  /** Whether it renews a Lease in each cluster, which proves that changes reach the functions. */
  readonly sendsHeartbeats?: boolean | undefined;
  /** Starts the sweep of a cluster that only the relay can reach. Without it this relay sweeps no cluster. */
  readonly sweep?: ((swept: SweptCluster) => Sweeping) | undefined;
  /** Receives the spans of the relay's own writes; without it nothing is traced. */
  readonly tracer?: Pick<Tracer, "start"> | undefined;
  /** What operators have stopped; undefined means nothing. */
  readonly stops?: Pick<Stops, "get" | "onChange"> | undefined;
  /**
   * Called with the cluster before each object is processed, so that the cause is known if the process dies.
   */
  readonly onHandle?: ((cluster: string) => void) | undefined;
  /** Called with one structured log line for each outcome. */
  readonly onOutcome?: ((line: OutcomeLine) => void) | undefined;
  /** The controllers to run; defaults to those of this build. */
  readonly watches?: readonly Watch[] | undefined;
  readonly clock?: Clock;
  /** Uniform in [0, 1). */
  readonly random?: () => number;
  /** Runs one collection of garbage; defaults to V8's. */
  readonly collectGarbage?: () => void;
}

/** A cluster that the relay sweeps, and how events about it reach the functions. */
export interface SweptCluster extends RelayCluster {
  readonly invoker: Pick<Invoker, "invoke">;
  /** Reads what operators have stopped for a cluster. */
  readonly readStop?: ((cluster: string) => Promise<Stop | undefined>) | undefined;
}

/** Sweeps clusters at intervals. */
export interface Sweeping {
  /** Starts nothing new. */
  stop(): void;
  /** Abandons what is in flight; resolves when everything has ended. */
  close(): Promise<void>;
}

/**
 * A running relay. It closes the transports of its clusters; the creator of the invoker closes the invoker.
 */
export interface Relay {
  /** Returns whether one cluster is ready, or all without a name. */
  ready(name?: string): boolean;
  status(): readonly ClusterState[];
  /** Starts to follow another cluster; throws if the name is already followed. */
  add(cluster: RelayCluster): void;
  /**
   * Stops following a cluster: nothing new starts, and what is in flight finishes or is abandoned when the
   * signal fires.
   */
  remove(name: string, signal: AbortSignal): Promise<void>;
  /**
   * Sets what is wrong with a cluster's configuration, whether it is followed or not; undefined clears it.
   */
  setConfigurationFault(name: string, fault: NotFollowedReason | undefined): void;
  /** Starts nothing new. Resolves to whether everything in flight had finished when the signal fired. */
  drain(signal: AbortSignal): Promise<boolean>;
  /** Stops everything at once and abandons what is in flight. */
  close(): Promise<void>;
}

/** Starts to follow the clusters, each separately, so that a problem of one delays no other. */
export function startRelay(options: RelayOptions): Relay {
  const { clock = systemClock, random = Math.random, onHandle } = options;
  const limiter = options.limiter ?? createInvocationLimiter({ clock, random });
  const refreshAllowance = createRefreshAllowance();
  const turns = createReadPermits(clock);
  const heap = createHeapTrimmer({
    clock,
    isBusy: () => [...followed.values()].some(({ relay }) => relay.isBusy()),
    collect: options.collectGarbage,
  });
  const followed = new Map<string, FollowedEntry>();
  const faults = new Map<string, NotFollowedReason>();
  let events = 0;

  /** Creates the reporter of a cluster for metrics and log. */
  function teller(cluster: Cluster): RelayReporter {
    const troubles = createIssueTracker(clock);
    const tell = (each: RelayNote): void => {
      options.metrics?.observe(each);
      if (options.onOutcome !== undefined) for (const line of formatOutcomeLines(each)) log.take(line);
    };
    const log = createLogLimit({
      linesPerSecond: cluster.limits.logLines,
      clock,
      write: (line) => options.onOutcome?.(line),
      note: (each) => tell({ cluster: cluster.name, ...each }),
    });
    const note = (each: RelayNote): void => {
      if (each.kind === "watch" && each.note.kind === "listed") heap.listed(each.note.objects);
      tell(each);
      for (const recovered of troubles.after(each)) tell({ cluster: cluster.name, ...recovered });
    };
    return { note, log };
  }

  function add({ cluster, transport }: RelayCluster): void {
    if (followed.has(cluster.name)) throw new Error(`cluster ${cluster.name} is followed already`);
    const { note, log } = teller(cluster);
    const { watches, sweep } = options;
    const readStop = async (name: string): Promise<Stop | undefined> => options.stops?.get(name);
    const writes = cluster.writes === "relay";
    const invoker = writes
      ? createWritingInvoker({
          ...{ cluster, transport, invoker: options.invoker, clock, watches },
          ...{ readStop, tracer: options.tracer },
        })
      : options.invoker;
    const relay = startClusterRelay({
      cluster,
      clusterHash: cluster.hash,
      transport: turns.wrapTransport(transport),
      // A small request with a deadline: it must not wait behind lists.
      lease: options.sendsHeartbeats === true ? transport : undefined,
      limiter,
      refreshAllowance,
      invoker,
      clock,
      random,
      refreshSeconds: options.nodeStatusUpdateFrequencySeconds,
      note,
      nextEventId({ name }) {
        events += 1;
        // The counter is the process's, so two ids differ even if a name was cut.
        return `${name.slice(0, 80)}.${options.identity.slice(0, 24)}.${events}`;
      },
      watches,
      stops: options.stops,
      onObject: onHandle && (() => onHandle(cluster.name)),
    });
    const sweeping = writes ? sweep?.({ cluster, transport, invoker, readStop }) : undefined;
    followed.set(cluster.name, { relay, transport, log, sweeping });
  }

  async function end(name: string, { relay, transport, log, sweeping }: FollowedEntry): Promise<void> {
    await Promise.all([relay.close(), sweeping?.close()]);
    followed.delete(name);
    log.close();
    await transport.close();
  }

  function status(): readonly ClusterState[] {
    const known = [...followed].map(([name, { relay, log }]) => {
      const state = relay.status();
      const limited = [...state.limited, ...log.limited()];
      return { ...state, limited, configurationFault: faults.get(name) };
    });
    const unknown = [...faults].filter(([name]) => !followed.has(name));
    return [...known, ...unknown.map(([name, fault]) => createUnfollowedState(name, fault))];
  }

  for (const cluster of options.clusters) add(cluster);
  options.metrics?.follow(status);

  return {
    status,
    add,
    ready(name) {
      const asked = status().filter((each) => name === undefined || each.name === name);
      return asked.length > 0 && asked.every((each) => each.ready);
    },
    async remove(name, signal) {
      const leaving = followed.get(name);
      if (leaving === undefined) return;
      leaving.sweeping?.stop();
      await Promise.race([leaving.relay.drain(), waitForAbort(signal)]);
      await end(name, leaving);
      await options.metrics?.forget(name);
    },
    setConfigurationFault(name, fault) {
      if (fault === undefined) faults.delete(name);
      else faults.set(name, fault);
    },
    async drain(signal) {
      for (const { sweeping } of followed.values()) sweeping?.stop();
      const done = Promise.all([...followed.values()].map(({ relay }) => relay.drain())).then(() => true);
      return Promise.race([done, waitForAbort(signal).then(() => false)]);
    },
    async close() {
      heap.close();
      await Promise.all([...followed].map(([name, each]) => end(name, each)));
    },
  };
}

interface FollowedEntry {
  readonly relay: ClusterRelay;
  readonly transport: Transport;
  readonly log: LogLimit;
  readonly sweeping: Sweeping | undefined;
}

interface RelayReporter {
  readonly note: (note: RelayNote) => void;
  readonly log: LogLimit;
}

function waitForAbort(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
