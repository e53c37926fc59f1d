import type { ControllerStatus } from "#relay/cluster-relay.ts";
import type { FollowedCluster } from "#relay/followed-cluster.ts";
import type { ClusterFacts } from "#relay/page/cluster-facts.ts";
import { histogram } from "#relay/page/histogram.ts";
import { html, type Markup } from "#relay/page/html.ts";
import { HEALTH, type Health } from "#relay/page/legend.ts";
import { RUNBOOKS, runbookFor } from "#relay/page/runbooks.ts";
import { since } from "#relay/page/since.ts";
import type { WaitingCount } from "#relay/report/waiting.ts";

/** Different reasons of a cluster that are shown. */
const MAX_REASONS = 10;

/** What the lifecycle of a node reports while the deletion of nodes is held back. */
const BRAKE = "BrakePulled";

/** The worst that is known of a cluster. */
export function healthOf(cluster: FollowedCluster): Health {
  if (!cluster.ready) return "failing";
  if (cluster.stop !== undefined) return "stopped";
  if (cluster.limited.length > 0) return "limited";
  if (cluster.configurationFault !== undefined) return "misconfigured";
  return waitingOf(cluster).some(isLong) ? "waiting" : "ok";
}

/** How a cluster is doing, as a row of the table. */
export function clusterRow(cluster: FollowedCluster, facts: ClusterFacts | undefined, nowMs: number): Markup {
  const health = healthOf(cluster);
  const cells = [
    html`<b class="word">${HEALTH[health].word}</b>${why(cluster, health)}`,
    html`${cluster.objects}`,
    html`${cluster.needed}`,
    html`${cluster.inFlight}`,
    reasons(cluster, nowMs),
    missed(cluster, facts),
    cloudCalls(cluster, facts),
    brake(cluster, nowMs),
    histogram(facts?.joined ?? []),
  ];
  return html`<tr class="${health}">
<th scope="row">${cluster.name}</th>
${cells.map((cell) => html`<td>${cell}</td>\n`)}</tr>
`;
}

/** A link of which the page remembers that it had the keyboard's focus, when its content is replaced. */
function link(cluster: FollowedCluster, column: string, href: string, words: string | Markup): Markup {
  return html`<a id="${`${column}/${cluster.name}`}" href="${href}">${words}</a>`;
}

/** Why a cluster is not `ok`, with a link for each code; what waits is told in a column of its own. */
function why(cluster: FollowedCluster, health: Health): Markup {
  const { failure, stop, limited, configurationFault: fault } = cluster;
  const coded = (runbook: string, code: string): Markup =>
    link(cluster, `state/${code}`, `${RUNBOOKS}${runbook}`, code);
  switch (health) {
    case "failing":
      if (failure === undefined) return html`: listing`;
      return html`: ${coded(runbookOfFailure(cluster, failure.code), failure.code)}: ${failure.message}`;
    case "stopped":
      return stop === "unproven"
        ? html`: ${coded("stop-switch-unreadable", "what is stopped cannot be read")}; deletions that are not proven by themselves wait`
        : html`: ${coded("stopped", stop ?? "")}`;
    case "limited":
      return html`: ${limited.map(({ limit, message }, index) => html`${index === 0 ? "" : "; "}${coded("cluster-limited", limit)}: ${message}`)}`;
    case "misconfigured":
      return html`: ${coded("cluster-misconfigured", fault?.code ?? "")}: ${fault?.message ?? ""}`;
    case "waiting":
    case "ok":
      return html``;
  }
}

function runbookOfFailure({ configurationFault: fault }: FollowedCluster, code: string): string {
  if (code === "Quarantined") return "cluster-quarantined";
  return fault?.code === code ? "cluster-misconfigured" : "cluster-not-ready";
}

interface Reason extends WaitingCount {
  readonly controller: ControllerStatus["name"];
}

function isLong({ age }: WaitingCount): boolean {
  return age !== "lt1m";
}

/** Those that wait longest first. */
function waitingOf({ controllers }: FollowedCluster): readonly Reason[] {
  return controllers
    .flatMap(({ name, waiting }) => waiting.map((each) => ({ ...each, controller: name })))
    .sort((a, b) => a.oldest.sinceMs - b.oldest.sinceMs);
}

function reasons(cluster: FollowedCluster, nowMs: number): Markup {
  const waiting = waitingOf(cluster);
  if (waiting.length === 0) return html`nothing`;
  const items = waiting.slice(0, MAX_REASONS).map(({ controller, reason, age, count, oldest }) => {
    const code = link(cluster, `${controller}/${reason}/${age}`, runbookFor(reason, controller), reason);
    return html`<li><b>${count} × ${code}</b> since ${since(oldest.sinceMs, nowMs)}, longest <code>${oldest.name}</code> <small>${controller}</small></li>`;
  });
  const more = waiting.length - items.length;
  return html`<ul>${items}${more > 0 ? html`<li>and ${more} more reasons</li>` : ""}</ul>`;
}

function missed(cluster: FollowedCluster, facts: ClusterFacts | undefined): Markup {
  const count = facts?.overdue;
  if (count === undefined) return html`not counted here`;
  return count === 0 ? html`0` : link(cluster, "missed", `${RUNBOOKS}sweep-finds-gap`, html`<b>${count}</b>`);
}

function cloudCalls(cluster: FollowedCluster, facts: ClusterFacts | undefined): Markup {
  const isSlowed = cluster.limited.some(({ limit }) => limit === "unresponsive");
  const { throttled = 0, waitedSeconds = 0 } = facts ?? {};
  const words = `${throttled} throttled`;
  const calls = throttled > 0 ? link(cluster, "cloud", `${RUNBOOKS}cloud-throttles`, words) : html`${words}`;
  return html`${isSlowed ? html`<b>one invocation at a time</b>, ` : ""}${calls}, ${Math.round(waitedSeconds)} s held back`;
}

function brake(cluster: FollowedCluster, nowMs: number): Markup {
  const held = waitingOf(cluster).filter(({ reason }) => reason === BRAKE);
  const [first] = held;
  if (first === undefined) return html`none held back`;
  const nodes = held.reduce((sum, { count }) => sum + count, 0);
  const words = html`<b>${nodes} held back</b>`;
  const linked = link(cluster, "brake", runbookFor(BRAKE, first.controller), words);
  return html`${linked} since ${since(first.oldest.sinceMs, nowMs)}`;
}
