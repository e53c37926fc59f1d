import type { PlatformState } from "#relay/delivery/check-platform.ts";
import type { FollowedCluster } from "#relay/followed-cluster.ts";
import { factsOf, gaugeOf } from "#relay/page/cluster-facts.ts";
import { clusterRow, isTroubled } from "#relay/page/cluster-row.ts";
import { html, textOf } from "#relay/page/html.ts";
import { SCRIPT, STYLE } from "#relay/page/parts.ts";
import { type ShardStatus, wordsOfShard } from "#relay/sharding/shard.ts";
import type { Metrics } from "#relay/workers/messages.ts";

/** What a page is made of. */
export interface PageFacts {
  readonly clusters: readonly FollowedCluster[];
  readonly platform: PlatformState | undefined;
  readonly shard?: ShardStatus | undefined;
  readonly metrics: Metrics;
  /** Milliseconds since the epoch. */
  readonly nowMs: number;
}

/** Clusters of a page; /readyz/clusters has more. */
const MAX_ROWS = 1_000;

/** All clusters on a page of HTML: those with trouble first, then those with work, then by name. */
export function renderPage({ clusters, platform, shard, metrics, nowMs }: PageFacts): string {
  const facts = factsOf(metrics);
  const ordered = clusters
    .map((cluster) => ({ cluster, rank: rankOf(cluster) }))
    .sort((a, b) => a.rank - b.rank || (a.cluster.name < b.cluster.name ? -1 : 1));
  const rows = ordered
    .slice(0, MAX_ROWS)
    .map(({ cluster }) => clusterRow(cluster, facts.get(cluster.name), nowMs));
  const more = clusters.length - rows.length;
  const ready = clusters.filter((each) => each.ready).length;
  const pending = clusters.reduce((sum, { needed }) => sum + needed, 0);
  const platformWords =
    platform === undefined
      ? "not looked at"
      : platform.reachable
        ? "reachable"
        : `cannot be reached: ${platform.message}`;
  return textOf(html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>serverless-ccm: ${ready} of ${clusters.length} clusters ready</title>
<meta name="viewport" content="width=device-width">
<noscript><meta http-equiv="refresh" content="10"></noscript>
<style>${STYLE}</style>
</head>
<body>
<main>
<h1>${ready} of ${clusters.length} clusters ready</h1>
<p>${pending} objects need work; ${gaugeOf(metrics, "serverless_ccm_waiting_invocations") ?? 0} controllers of clusters wait for leave to invoke; functions: ${platformWords}${shard === undefined ? "" : `; ${wordsOfShard(shard)}`}. As of ${new Date(nowMs).toISOString()}.</p>
<table>
<thead><tr><th>Cluster</th><th>State</th><th>Objects</th><th>Pending</th><th>In flight</th><th>What waits, why, since when (UTC)</th><th>Gap</th><th>Budget</th><th>Brake</th><th>Joining to schedulable</th></tr></thead>
<tbody>
${rows}</tbody>
</table>
${more > 0 ? html`<p>and ${more} more: <a href="/readyz/clusters">all clusters</a></p>` : ""}
<p><a href="/readyz/clusters">state of all clusters</a>, <a href="/metrics">metrics</a></p>
</main>
<script>${SCRIPT}</script>
</body>
</html>
`);
}

function rankOf(cluster: FollowedCluster): number {
  if (isTroubled(cluster)) return 0;
  return cluster.needed > 0 ? 1 : 2;
}
