import type { Clock } from "#kube/follow/clock.ts";
import type { PlatformState } from "#relay/delivery/check-platform.ts";
import type { FollowedCluster } from "#relay/followed-cluster.ts";
import { renderPage } from "#relay/page/page.ts";
import type { ShardStatus } from "#relay/sharding/shard.ts";
import type { Metrics } from "#relay/workers/messages.ts";

/** The data sources of a page. */
export interface PageOptions {
  readonly status: () => readonly FollowedCluster[];
  readonly values: () => Promise<Metrics>;
  readonly platform: (() => PlatformState | undefined) | undefined;
  /** Returns the state of its shard, if it shares the clusters with other replicas. */
  readonly shard?: (() => ShardStatus) | undefined;
  readonly clock: Clock;
}

/**
 * A page is reused for this long: however many requests come, it is rendered at most twice in ten seconds.
 */
const FRESH_MS = 5_000;

/** Serves the page; requests at about the same time get the same one. */
export function createPage({ status, values, platform, shard, clock }: PageOptions): () => Promise<string> {
  let made: { readonly atMs: number; readonly page: Promise<string> } | undefined;
  return () => {
    const nowMs = clock.now();
    if (made !== undefined && nowMs - made.atMs < FRESH_MS) return made.page;
    const page = values().then((metrics) => {
      const shown = { clusters: status(), platform: platform?.(), shard: shard?.(), metrics };
      return renderPage({ ...shown, nowMs: clock.wallTime().getTime() });
    });
    made = { atMs: nowMs, page };
    // A failed page is not reused.
    page.catch(() => {
      made = undefined;
    });
    return page;
  };
}
