import type { PlatformState } from "#relay/delivery/check-platform.ts";
import type { FollowedCluster } from "#relay/followed-cluster.ts";
import { factsOf, gaugeOf } from "#relay/page/cluster-facts.ts";
import { clusterRow, healthOf } from "#relay/page/cluster-row.ts";
import { html, type Markup, textOf } from "#relay/page/html.ts";
import { COLUMNS, HEALTH } from "#relay/page/legend.ts";
import { SCRIPT, STYLE } from "#relay/page/parts.ts";
import { RUNBOOKS } from "#relay/page/runbooks.ts";
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
  const waiting = gaugeOf(metrics, "serverless_ccm_waiting_invocations") ?? 0;
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
<p>${pending} objects need work; ${waiting} invocations wait for their turn; functions: ${wordsOfPlatform(platform)}${shard === undefined ? "" : `; ${wordsOfShard(shard)}`}. As of ${new Date(nowMs).toISOString()}.</p>
<table>
<thead><tr>${COLUMNS.map(({ title }) => html`<th scope="col">${title}</th>`)}</tr></thead>
<tbody>
${rows}</tbody>
</table>
${more > 0 ? html`<p>and ${more} more: <a href="/readyz/clusters">all clusters</a></p>` : ""}
<p><a href="/readyz/clusters">state of all clusters</a>, <a href="/metrics">metrics</a>, <a href="${RUNBOOKS}codes">all codes</a></p>
</main>
${LEGEND}<script>${SCRIPT}</script>
</body>
</html>
`);
}

/** It stands beside what is replaced, and stays open or closed. */
const LEGEND = html`<details>
<summary>Legend: what colours, words and columns mean</summary>
<dl>
${Object.entries(HEALTH).map(([health, { word, legend }]) => html`<dt class="${health}">${word}</dt><dd>${legend}</dd>\n`)}</dl>
<dl>
${COLUMNS.map(({ title, legend }) => html`<dt>${title}</dt><dd>${legend}</dd>\n`)}</dl>
<p>A code is a link to what to do about it.</p>
</details>
`;

function wordsOfPlatform(platform: PlatformState | undefined): string | Markup {
  if (platform === undefined) return "not looked at";
  if (platform.reachable) return "reachable";
  return html`<a id="platform" href="${RUNBOOKS}platform-unreachable">cannot be reached</a>: ${platform.message}`;
}

function rankOf(cluster: FollowedCluster): number {
  if (healthOf(cluster) !== "ok") return 0;
  return cluster.needed > 0 ? 1 : 2;
}
