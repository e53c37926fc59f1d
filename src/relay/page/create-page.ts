import type { Clock } from "#kube/follow/clock.ts";
import type { ClusterState } from "#relay/cluster-state.ts";
import type { PlatformState } from "#relay/delivery/check-platform.ts";
import { collectClusterFacts, findGauge } from "#relay/page/cluster-facts.ts";
import { getHealth, renderClusterRow } from "#relay/page/cluster-row.ts";
import { html, type Markup, renderText } from "#relay/page/html.ts";
import { COLUMNS, HEALTH, SCRIPT, STYLE } from "#relay/page/parts.ts";
import { RUNBOOKS } from "#relay/page/runbooks.ts";
import { describeShard, type ShardStatus } from "#relay/sharding/shard.ts";
import type { Metrics } from "#relay/workers/messages.ts";

/** The data sources of a page. */
export interface PageOptions {
  readonly status: () => readonly ClusterState[];
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

/** The content of a page. */
interface PageFacts {
  readonly clusters: readonly ClusterState[];
  readonly platform: PlatformState | undefined;
  readonly shard?: ShardStatus | undefined;
  readonly metrics: Metrics;
  /** Milliseconds since the epoch. */
  readonly nowMs: number;
}

/** The largest number of clusters on a page; /readyz/clusters has more. */
const MAX_ROWS = 1_000;

/** Renders all clusters on an HTML page: those with problems first, then those with work, then by name. */
export function renderPage({ clusters, platform, shard, metrics, nowMs }: PageFacts): string {
  const facts = collectClusterFacts(metrics);
  const ordered = clusters
    .map((cluster) => ({ cluster, rank: getRank(cluster) }))
    .sort((a, b) => a.rank - b.rank || (a.cluster.name < b.cluster.name ? -1 : 1));
  const rows = ordered
    .slice(0, MAX_ROWS)
    .map(({ cluster }) => renderClusterRow(cluster, facts.get(cluster.name), nowMs));
  const more = clusters.length - rows.length;
  const ready = clusters.filter((each) => each.ready).length;
  const pending = clusters.reduce((sum, { needed }) => sum + needed, 0);
  const waiting = findGauge(metrics, "serverless_ccm_waiting_invocations") ?? 0;
  return renderText(html`<!doctype html>
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
<p>${pending} objects need work; ${waiting} invocations wait for their turn; functions: ${describePlatform(platform)}${shard === undefined ? "" : `; ${describeShard(shard)}`}. As of ${new Date(nowMs).toISOString()}.</p>
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

/** Outside of the part that is replaced, so it stays open or closed. */
const LEGEND = html`<details>
<summary>Legend: what colours, words and columns mean</summary>
<dl>
${Object.entries(HEALTH).map(([health, { word, legend }]) => html`<dt class="${health}">${word}</dt><dd>${legend}</dd>\n`)}</dl>
<dl>
${COLUMNS.map(({ title, legend }) => html`<dt>${title}</dt><dd>${legend}</dd>\n`)}</dl>
<p>A code is a link to what to do about it.</p>
</details>
`;

function describePlatform(platform: PlatformState | undefined): string | Markup {
  if (platform === undefined) return "not checked";
  if (platform.reachable) return "reachable";
  return html`<a id="platform" href="${RUNBOOKS}platform-unreachable">cannot be reached</a>: ${platform.message}`;
}

function getRank(cluster: ClusterState): number {
  if (getHealth(cluster) !== "ok") return 0;
  return cluster.needed > 0 ? 1 : 2;
}
