import type { Clock } from "#kube/follow/clock.ts";
import type { PlatformState } from "#relay/delivery/check-platform.ts";
import type { FollowedCluster } from "#relay/followed-cluster.ts";
import { renderPage } from "#relay/page/page.ts";
import type { ShardStatus } from "#relay/sharding/shard.ts";
import type { Metrics } from "#relay/workers/messages.ts";

/** Where a page finds what it shows. */
export interface PageOptions {
  readonly status: () => readonly FollowedCluster[];
  readonly values: () => Promise<Metrics>;
  readonly platform: (() => PlatformState | undefined) | undefined;
  /** How its shard stands, where it shares the clusters with other replicas. */
  readonly shard?: (() => ShardStatus) | undefined;
  readonly clock: Clock;
}

/** For so long a page is shown again: however many look, it is made twice in ten seconds at most. */
const FRESH_MS = 5_000;

/** Answers with the page; those who ask at about the same time get the same one. */
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
    // One that failed is nobody else's.
    page.catch(() => {
      made = undefined;
    });
    return page;
  };
}
