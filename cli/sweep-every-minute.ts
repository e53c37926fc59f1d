import { randomBytes } from "node:crypto";
import type { Sweeping } from "#cli/serve.ts";
import type { Cluster } from "#config/cluster.ts";
import type { Watch } from "#core/controller.ts";
import type { Stop } from "#core/stop.ts";
import type { Invoker } from "#delivery/invoker.ts";
import type { Transport } from "#kube/client/transport.ts";
import { type Clock, pause, systemClock } from "#kube/follow/clock.ts";
import type { ReadingTurns } from "#kube/follow/reading-turns.ts";
import { type ClusterSweep, createSweepTurns, sweepCluster } from "#sweep/sweep-cluster.ts";
import { type SweepLine, sweepLines } from "#sweep/sweep-line.ts";
import { minuteOf } from "#sweep/turns.ts";

export interface SweepEveryMinuteOptions {
  readonly cluster: Cluster;
  /** The way to its API server with the right to list, asked for at each sweep; whoever gives it closes it. */
  readonly api: (cluster: Cluster) => Promise<Transport>;
  readonly invoker: Pick<Invoker, "invoke">;
  readonly log: (line: SweepLine) => void;
  /** Takes how many overdue nodes a list has found. */
  readonly onOverdue: (overdue: number) => void;
  /** How long after its start the first sweep is; a minute without it. */
  readonly firstMs?: number;
  /** That lists take with those of other clusters; its own without it. */
  readonly turns?: ReadingTurns;
  readonly watches?: readonly Watch[];
  /** What operators have stopped for a cluster; nothing without it. Never rejects. */
  readonly stopOf?: ((cluster: string) => Promise<Stop | undefined>) | undefined;
  readonly clock?: Clock;
  /** Uniform in [0, 1). */
  readonly random?: () => number;
}

/** Between two sweeps of a cluster. */
export const MINUTE_MS = 60_000;

/** Longer than a deployed sweep has, which is followed by another one in a minute. */
const LONGEST_MS = 120_000;

/** Sweeps one cluster every minute in this process, the first time not before a minute from now: until then the relay lists by itself. */
export function sweepEveryMinute(options: SweepEveryMinuteOptions): Sweeping {
  const { cluster, api, log, clock = systemClock, random = Math.random } = options;
  const stopping = new AbortController();
  const closing = new AbortController();
  const world = {
    ...{ invoker: options.invoker, clock, random, watches: options.watches, api, stopOf: options.stopOf },
    identity: `sweep-${randomBytes(4).toString("hex")}`,
    turns: options.turns ?? createSweepTurns(clock),
  };

  async function sweepOnce(): Promise<void> {
    const late = new AbortController();
    const cancel = clock.after(LONGEST_MS, () => late.abort());
    const time = {
      minute: minuteOf(clock.wallTime().getTime()),
      signal: AbortSignal.any([stopping.signal, late.signal]),
      giveUp: AbortSignal.any([closing.signal, late.signal]),
    };
    const sweep = await sweepCluster(cluster, world, time);
    cancel();
    if (wasListed(sweep)) options.onOverdue(sweep.overdue);
    if (stopping.signal.aborted) return;
    // A Lease that is fresh is nothing to say of one cluster, once a minute.
    if (sweep.mode !== "lease") for (const line of sweepLines([sweep])) log(line);
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

/** What was not listed says nothing new of the gap. */
function wasListed({ mode }: ClusterSweep): boolean {
  return mode === "audit" || mode === "full";
}
