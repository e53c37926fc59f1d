import type { Cluster } from "#config/cluster.ts";
import type { Transport } from "#kube/client/transport.ts";
import { type Clock, systemClock } from "#kube/follow/clock.ts";
import { type ClusterRelay, type ClusterStatus, startClusterRelay } from "#relay/cluster-relay.ts";
import { createBudgets } from "#relay/delivery/budgets.ts";
import type { Invoker } from "#relay/delivery/invoker.ts";
import { createReadingTurns } from "#relay/feed/reading-turns.ts";
import type { RelayMetrics } from "#relay/report/metrics.ts";
import type { RelayNote } from "#relay/report/note.ts";
import { type OutcomeLine, outcomeLinesOf } from "#relay/report/outcome-line.ts";

/** One cluster, and the way to its API server with the relay's identity. */
export interface RelayCluster {
  readonly cluster: Cluster;
  readonly transport: Transport;
}

export interface RelayOptions {
  readonly clusters: readonly RelayCluster[];
  readonly invoker: Invoker;
  /** Tells this process's events from those of any other; a few random characters. */
  readonly identity: string;
  /** How often the addresses of initialized nodes are compared; the stock flag's default is 300. */
  readonly nodeStatusUpdateFrequencySeconds: number;
  readonly metrics?: RelayMetrics | undefined;
  /** One structured line for every outcome, ready for the log. */
  readonly onOutcome?: ((line: OutcomeLine) => void) | undefined;
  readonly clock?: Clock;
  /** Uniform in [0, 1). */
  readonly random?: () => number;
}

/** A running relay. It owns neither the transports nor the invoker: whoever made them closes them. */
export interface Relay {
  /** Of one cluster, or of all. */
  ready(name?: string): boolean;
  status(): readonly ClusterStatus[];
  /** Nothing new starts; resolves to whether all that was in flight had finished when the signal fired. */
  drain(signal: AbortSignal): Promise<boolean>;
  /** Ends everything at once; what is in flight is given up. */
  close(): Promise<void>;
}

/** Starts to follow the clusters; each by itself, so that the trouble of one delays no other. */
export function startRelay(options: RelayOptions): Relay {
  const { clock = systemClock, random = Math.random } = options;
  const budgets = createBudgets();
  const turns = createReadingTurns(clock);
  let events = 0;
  const note = (each: RelayNote): void => {
    options.metrics?.observe(each);
    if (options.onOutcome !== undefined) for (const line of outcomeLinesOf(each)) options.onOutcome(line);
  };
  const relays: readonly ClusterRelay[] = options.clusters.map(({ cluster, transport }) =>
    startClusterRelay({
      cluster,
      clusterHash: cluster.hash,
      transport: turns.take(transport),
      invoker: options.invoker,
      budgets,
      clock,
      random,
      refreshSeconds: options.nodeStatusUpdateFrequencySeconds,
      note,
      nextEventId({ name }) {
        events += 1;
        // The counter is the process's, so a name that had to be cut makes no two ids the same.
        return `${name.slice(0, 80)}.${options.identity.slice(0, 24)}.${events}`;
      },
      onSettled() {
        for (const relay of relays) relay.wake();
      },
    }),
  );
  const status = (): readonly ClusterStatus[] => relays.map((relay) => relay.status());
  options.metrics?.follow(status);

  return {
    status,
    ready(name) {
      const asked = status().filter((each) => name === undefined || each.name === name);
      return asked.length > 0 && asked.every((each) => each.ready);
    },
    async drain(signal) {
      const done = Promise.all(relays.map((relay) => relay.drain())).then(() => true);
      return Promise.race([done, fired(signal).then(() => false)]);
    },
    async close() {
      await Promise.all(relays.map((relay) => relay.close()));
    },
  };
}

function fired(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
