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
  return worstOf(issuesOf(cluster), waitingOf(cluster));
}

function worstOf([worst]: readonly Issue[], waiting: readonly Reason[]): Health {
  return worst?.health ?? (waiting.some(isLong) ? "waiting" : "ok");
}

/** How a cluster is doing, as a row of the table. */
export function clusterRow(cluster: FollowedCluster, facts: ClusterFacts | undefined, nowMs: number): Markup {
  const [issues, waiting] = [issuesOf(cluster), waitingOf(cluster)];
  const health = worstOf(issues, waiting);
  const cells = [
    state(issues, health),
    html`${cluster.objects}`,
    html`${cluster.needed}`,
    html`${cluster.inFlight}`,
    reasons(cluster, waiting, nowMs),
    missed(cluster, facts),
    cloudCalls(cluster, facts),
    brake(cluster, waiting, nowMs),
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

/** What is wrong with a cluster as a whole, the worst first; what waits is told in a column of its own. */
interface Issue {
  readonly health: Exclude<Health, "waiting" | "ok">;
  /** With a link for each code. */
  readonly why: Markup;
}

function issuesOf(cluster: FollowedCluster): readonly Issue[] {
  const { ready, failure, stop, limited, configurationFault: fault } = cluster;
  const coded = (runbook: string, code: string): Markup =>
    link(cluster, `state/${code}`, `${RUNBOOKS}${runbook}`, code);
  const issues: Issue[] = [];
  if (!ready && failure === undefined) issues.push({ health: "failing", why: html`listing` });
  if (!ready && failure !== undefined) {
    const { code, message } = failure;
    const runbook = runbookOfFailure(cluster, code);
    issues.push({ health: "failing", why: html`${coded(runbook, code)}: ${message}` });
  }
  if (stop === "unproven") {
    const words = coded("stop-switch-unreadable", "what is stopped cannot be read");
    issues.push({ health: "stopped", why: html`${words}; deletions that are not proven by themselves wait` });
  } else if (stop !== undefined) issues.push({ health: "stopped", why: coded("stopped", stop) });
  if (limited.length > 0) {
    const limits = limited.map(
      ({ limit, message }, index) =>
        html`${index === 0 ? "" : "; "}${coded("cluster-limited", limit)}: ${message}`,
    );
    issues.push({ health: "limited", why: html`${limits}` });
  }
  if (fault !== undefined && (ready || fault.code !== failure?.code)) {
    const words = html`${coded("cluster-misconfigured", fault.code)}: ${fault.message}`;
    issues.push({ health: "misconfigured", why: words });
  }
  return issues;
}

/** The word of the row's colour, why it is that, and what else is wrong. */
function state([first, ...others]: readonly Issue[], health: Health): Markup {
  const word = html`<b class="word">${HEALTH[health].word}</b>`;
  if (first === undefined) return word;
  const rest = others.map((issue) => html`; ${HEALTH[issue.health].word}: ${issue.why}`);
  return html`${word}: ${first.why}${rest}`;
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

function reasons(cluster: FollowedCluster, waiting: readonly Reason[], nowMs: number): Markup {
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

function brake(cluster: FollowedCluster, waiting: readonly Reason[], nowMs: number): Markup {
  const held = waiting.filter(({ reason }) => reason === BRAKE);
  const [first] = held;
  if (first === undefined) return html`none held back`;
  const nodes = held.reduce((sum, { count }) => sum + count, 0);
  const words = html`<b>${nodes} held back</b>`;
  const linked = link(cluster, "brake", runbookFor(BRAKE, first.controller), words);
  return html`${linked} since ${since(first.oldest.sinceMs, nowMs)}`;
}
