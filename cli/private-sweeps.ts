import { MINUTE_MS, sweepEveryMinute } from "#cli/sweep-every-minute.ts";
import { formatUser } from "#core/identities.ts";
import { impersonate } from "#kube/client/impersonate.ts";
import { type Clock, systemClock } from "#kube/follow/clock.ts";
import type { RelayOptions } from "#relay/relay.ts";
import type { RelayMetrics } from "#relay/report/metrics.ts";
import { createSweepTurns } from "#sweep/sweep-cluster.ts";
import type { SweepLine } from "#sweep/sweep-line.ts";

export interface PrivateSweepsOptions {
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
