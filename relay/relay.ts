import type { Cluster } from "#config/cluster.ts";
import type { Stops } from "#config/switch/follow-stops.ts";
import type { Watch } from "#core/controller.ts";
import type { Stop } from "#core/stop.ts";
import type { Invoker } from "#delivery/invoker.ts";
import type { Transport } from "#kube/client/transport.ts";
import { type Clock, systemClock } from "#kube/follow/clock.ts";
import { createReadingTurns } from "#kube/follow/reading-turns.ts";
import { type ClusterRelay, startClusterRelay } from "#relay/cluster-relay.ts";
import { createGate } from "#relay/delivery/create-gate.ts";
import type { Gate } from "#relay/delivery/gate.ts";
import { createRefreshAllowance } from "#relay/delivery/refresh-allowance.ts";
import { writingInvoker } from "#relay/delivery/writing-invoker.ts";
import { type ConfigurationFault, type FollowedCluster, notFollowed } from "#relay/followed-cluster.ts";
import { createLogLimit, type LogLimit } from "#relay/report/log-limit.ts";
import type { RelayMetrics } from "#relay/report/metrics.ts";
import type { RelayNote } from "#relay/report/note.ts";
import { type OutcomeLine, outcomeLinesOf } from "#relay/report/outcome-line.ts";
import { createTroubles } from "#relay/report/troubles.ts";
import type { Tracer } from "#tracing/tracer.ts";

/** One cluster, and the way to its API server with the relay's identity. */
export interface RelayCluster {
  readonly cluster: Cluster;
  readonly transport: Transport;
}

export interface RelayOptions {
  /** To begin with. */
  readonly clusters: readonly RelayCluster[];
  readonly invoker: Invoker;
  /** That all clusters stand before; one of its own without it. */
  readonly gate?: Gate | undefined;
  /** Tells this process's events from those of any other; a few random characters. */
  readonly identity: string;
  /** How often the addresses of initialized nodes are compared; the stock flag's default is 300. */
  readonly nodeStatusUpdateFrequencySeconds: number;
  readonly metrics?: RelayMetrics | undefined;
  /** Whether it vouches, by a Lease in each cluster, for what happens there reaching the functions. */
  readonly vouches?: boolean | undefined;
  /** Starts what sweeps a cluster that the relay alone can reach; without it, or another's doing, it is not swept. */
  readonly sweep?: ((swept: SweptCluster) => Sweeping) | undefined;
  /** What spans of the relay's own writes go to; nothing is traced without it. */
  readonly tracer?: Pick<Tracer, "start"> | undefined;
  /** What operators have stopped; nothing without it. */
  readonly stops?: Pick<Stops, "of" | "onChange"> | undefined;
  /** Told whose object it is before each is looked at; for whoever must know what a process was at that ended. */
  readonly onHandle?: ((cluster: string) => void) | undefined;
  /** One structured line for every outcome, ready for the log. */
  readonly onOutcome?: ((line: OutcomeLine) => void) | undefined;
  /** The controllers that there are; those of this build without it. */
  readonly watches?: readonly Watch[] | undefined;
  readonly clock?: Clock;
  /** Uniform in [0, 1). */
  readonly random?: () => number;
}

/** A cluster that is swept beside the relay, and how events about it reach the functions. */
export interface SweptCluster extends RelayCluster {
  readonly invoker: Pick<Invoker, "invoke">;
  /** What operators have stopped for a cluster. */
  readonly stopOf?: ((cluster: string) => Promise<Stop | undefined>) | undefined;
}

/** What sweeps clusters now and then. */
export interface Sweeping {
  /** Nothing new starts any more. */
  stop(): void;
  /** What is in flight is given up; resolves when nothing of it goes on. */
  close(): Promise<void>;
}

/** A running relay. It closes the transports of its clusters; the invoker is closed by whoever made it. */
export interface Relay {
  /** Of one cluster, or of all. */
  ready(name?: string): boolean;
  status(): readonly FollowedCluster[];
  /** Starts to follow one more; throws where one of that name is there. */
  add(cluster: RelayCluster): void;
  /** Ends following one: nothing of it starts any more, and what is in flight finishes or, when the signal fires, is given up. */
  remove(name: string, signal: AbortSignal): Promise<void>;
  /** Says what is wrong with a cluster's configuration, followed or not; undefined where nothing is any more. */
  setConfigurationFault(name: string, fault: ConfigurationFault | undefined): void;
  /** Nothing new starts; resolves to whether all that was in flight had finished when the signal fired. */
  drain(signal: AbortSignal): Promise<boolean>;
  /** Ends everything at once; what is in flight is given up. */
  close(): Promise<void>;
}

/** Starts to follow the clusters; each by itself, so that the trouble of one delays no other. */
export function startRelay(options: RelayOptions): Relay {
  const { clock = systemClock, random = Math.random, onHandle } = options;
  const gate = options.gate ?? createGate({ clock, random });
  const refreshAllowance = createRefreshAllowance();
  const turns = createReadingTurns(clock);
  const followed = new Map<string, Followed>();
  const faults = new Map<string, ConfigurationFault>();
  let events = 0;

  /** Tells metrics and log what there is to tell of a cluster. */
  function teller(cluster: Cluster): Teller {
    const troubles = createTroubles(clock);
    const tell = (each: RelayNote): void => {
      options.metrics?.observe(each);
      if (options.onOutcome !== undefined) for (const line of outcomeLinesOf(each)) log.take(line);
    };
    const log = createLogLimit({
      linesPerSecond: cluster.limits.logLines,
      clock,
      write: (line) => options.onOutcome?.(line),
      note: (each) => tell({ cluster: cluster.name, ...each }),
    });
    const note = (each: RelayNote): void => {
      tell(each);
      for (const recovered of troubles.after(each)) tell({ cluster: cluster.name, ...recovered });
    };
    return { note, log };
  }

  function add({ cluster, transport }: RelayCluster): void {
    if (followed.has(cluster.name)) throw new Error(`cluster ${cluster.name} is followed already`);
    const { note, log } = teller(cluster);
    const { watches, sweep } = options;
    const stopOf = async (name: string): Promise<Stop | undefined> => options.stops?.of(name);
    const writes = cluster.writes === "relay";
    const invoker = writes
      ? writingInvoker({
          ...{ cluster, transport, invoker: options.invoker, clock, watches },
          ...{ stopOf, tracer: options.tracer },
        })
      : options.invoker;
    const relay = startClusterRelay({
      cluster,
      clusterHash: cluster.hash,
      transport: turns.take(transport),
      // Small, and for the clock: a renewal waits for nobody's lists.
      lease: options.vouches === true ? transport : undefined,
      gate,
      refreshAllowance,
      invoker,
      clock,
      random,
      refreshSeconds: options.nodeStatusUpdateFrequencySeconds,
      note,
      nextEventId({ name }) {
        events += 1;
        // The counter is the process's, so a name that had to be cut makes no two ids the same.
        return `${name.slice(0, 80)}.${options.identity.slice(0, 24)}.${events}`;
      },
      watches,
      stops: options.stops,
      onObject: onHandle && (() => onHandle(cluster.name)),
    });
    const sweeping = writes ? sweep?.({ cluster, transport, invoker, stopOf }) : undefined;
    followed.set(cluster.name, { relay, transport, log, sweeping });
  }

  async function end(name: string, { relay, transport, log, sweeping }: Followed): Promise<void> {
    await Promise.all([relay.close(), sweeping?.close()]);
    followed.delete(name);
    log.close();
    await transport.close();
  }

  function status(): readonly FollowedCluster[] {
    const known = [...followed].map(([name, { relay, log }]) => {
      const state = relay.status();
      const limited = [...state.limited, ...log.limited()];
      return { ...state, limited, configurationFault: faults.get(name) };
    });
    const unknown = [...faults].filter(([name]) => !followed.has(name));
    return [...known, ...unknown.map(([name, fault]) => notFollowed(name, fault))];
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
      await Promise.race([leaving.relay.drain(), fired(signal)]);
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
      return Promise.race([done, fired(signal).then(() => false)]);
    },
    async close() {
      await Promise.all([...followed].map(([name, each]) => end(name, each)));
    },
  };
}

interface Followed {
  readonly relay: ClusterRelay;
  readonly transport: Transport;
  readonly log: LogLimit;
  readonly sweeping: Sweeping | undefined;
}

interface Teller {
  readonly note: (note: RelayNote) => void;
  readonly log: LogLimit;
}

function fired(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
