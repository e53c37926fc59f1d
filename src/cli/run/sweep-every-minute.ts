import { randomBytes } from "node:crypto";
import type { Cluster } from "#config/cluster.ts";
import { formatUser } from "#core/identities.ts";
import type { Stop } from "#core/stop.ts";
import type { Watch } from "#core/watch.ts";
import { impersonate, type Transport } from "#kube/client/transport.ts";
import { type Clock, pause, systemClock } from "#kube/follow/clock.ts";
import type { ReadPermits } from "#kube/follow/read-permits.ts";
import type { Invoker } from "#platforms/invoker.ts";
import type { RelayOptions } from "#relay/relay.ts";
import type { RelayMetrics } from "#relay/report/metrics.ts";
import { buildSweepLines, type SweepLine } from "#sweep/payload.ts";
import { toMinute } from "#sweep/select.ts";
import { type ClusterSweep, createSweepTurns, sweepCluster } from "#sweep/sweep-cluster.ts";

export interface SweepEveryMinuteOptions {
  readonly cluster: Cluster;
  /**
   * Returns the transport to the API server with the right to list, at each sweep; the provider closes it.
   */
  readonly api: (cluster: Cluster) => Promise<Transport>;
  readonly invoker: Pick<Invoker, "invoke">;
  readonly log: (line: SweepLine) => void;
  /** Called with the number of overdue nodes in a list. */
  readonly onOverdue: (overdue: number) => void;
  /** The delay of the first sweep; a minute without it. */
  readonly firstMs?: number;
  /** Shares list permits with other clusters; its own without it. */
  readonly turns?: ReadPermits;
  readonly watches?: readonly Watch[];
  /** Returns what operators have stopped for a cluster; nothing without it. Never rejects. */
  readonly readStop?: ((cluster: string) => Promise<Stop | undefined>) | undefined;
  readonly clock?: Clock;
  /** Uniform in [0, 1). */
  readonly random?: () => number;
}

/** The time between two sweeps of a cluster. */
export const MINUTE_MS = 60_000;

/** Longer than a deployed sweep may take, which another one follows within a minute. */
const LONGEST_MS = 120_000;

/**
 * Sweeps one cluster every minute in this process, the first time after a minute: until then the relay has
 * just listed.
 */
export function sweepEveryMinute(options: SweepEveryMinuteOptions): Sweeping {
  const { cluster, api, log, clock = systemClock, random = Math.random } = options;
  const stopping = new AbortController();
  const closing = new AbortController();
  const world = {
    ...{ invoker: options.invoker, clock, random, watches: options.watches, api, readStop: options.readStop },
    identity: `sweep-${randomBytes(4).toString("hex")}`,
    turns: options.turns ?? createSweepTurns(clock),
  };

  async function sweepOnce(): Promise<void> {
    const late = new AbortController();
    const cancel = clock.after(LONGEST_MS, () => late.abort());
    const time = {
      minute: toMinute(clock.wallTime().getTime()),
      signal: AbortSignal.any([stopping.signal, late.signal]),
      giveUp: AbortSignal.any([closing.signal, late.signal]),
    };
    const sweep = await sweepCluster(cluster, world, time);
    cancel();
    if (isListed(sweep)) options.onOverdue(sweep.overdue);
    if (stopping.signal.aborted) return;
    // A fresh Lease is not worth a log line for one cluster every minute.
    if (sweep.mode !== "lease") for (const line of buildSweepLines([sweep])) log(line);
  }

  async function sweepForever(): Promise<void> {
    await pause(clock, options.firstMs ?? MINUTE_MS, stopping.signal);
    while (!stopping.signal.aborted) {
      await sweepOnce();
      await pause(clock, MINUTE_MS, stopping.signal);
    }
  }

  const sweeping = sweepForever();
  return {
    stop: () => stopping.abort(),
    async close() {
      stopping.abort();
      closing.abort();
      await sweeping;
    },
  };
}

/** A sweep without a list has no news about the gap. */
function isListed({ mode }: ClusterSweep): boolean {
  return mode === "audit" || mode === "full";
}

/** Sweeps clusters at intervals. */
export interface Sweeping {
  /** Starts nothing new. */
  stop(): void;
  /** Abandons what is in flight; resolves when everything has ended. */
  close(): Promise<void>;
}

interface PrivateSweepsOptions {
  readonly metrics: Pick<RelayMetrics, "followSweep">;
  readonly log: (line: SweepLine) => void;
  readonly clock?: Clock;
  /** Uniform in [0, 1). */
  readonly random?: () => number;
}

/**
 * Sweeps, in the relay's process, the clusters that no function can reach: each once a minute, with the
 * sweep's rights and its own lists. It finds what the relay's watches have missed; it does not help if the
 * relay is gone.
 */
export function createPrivateSweeps({
  metrics,
  log,
  clock = systemClock,
  random = Math.random,
}: PrivateSweepsOptions): NonNullable<RelayOptions["sweep"]> {
  const turns = createSweepTurns(clock);
  const overdue = new Map<string, number>();
  let isFollowed = false;
  return ({ cluster, transport, invoker, readStop }) => {
    if (!isFollowed) metrics.followSweep(() => overdue);
    isFollowed = true;
    const sweeping = sweepEveryMinute({
      ...{ cluster, invoker, log, turns, clock, random, readStop },
      // Spread, so that clusters that start together do not list together.
      firstMs: MINUTE_MS * (1 + random()),
      api: async () => impersonate(transport, formatUser("sweep")),
      onOverdue: (nodes) => void overdue.set(cluster.name, nodes),
    });
    return {
      stop: sweeping.stop,
      async close() {
        await sweeping.close();
        overdue.delete(cluster.name);
      },
    };
  };
}
