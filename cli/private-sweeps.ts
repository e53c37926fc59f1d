import { MINUTE_MS, sweepEveryMinute } from "#cli/sweep-every-minute.ts";
import { userOf } from "#core/identities.ts";
import { actingAs } from "#kube/client/acting-as.ts";
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
 * Sweeps, in the relay's own process, the clusters that no function can reach: once a minute each, with rights of the sweep's and by lists
 * of its own. It finds what the relay's watches have missed; a relay that is gone it cannot find.
 */
export function privateSweeps({
  metrics,
  log,
  clock = systemClock,
  random = Math.random,
}: PrivateSweepsOptions): NonNullable<RelayOptions["sweep"]> {
  const turns = createSweepTurns(clock);
  const overdue = new Map<string, number>();
  let isFollowed = false;
  return ({ cluster, transport, invoker, stopOf }) => {
    if (!isFollowed) metrics.followSweep(() => overdue);
    isFollowed = true;
    const sweeping = sweepEveryMinute({
      ...{ cluster, invoker, log, turns, clock, random, stopOf },
      // Those that begin together do not list together.
      firstMs: MINUTE_MS * (1 + random()),
      api: async () => actingAs(transport, userOf("sweep")),
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
