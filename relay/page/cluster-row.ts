import type { ControllerStatus } from "#relay/cluster-relay.ts";
import type { FollowedCluster } from "#relay/followed-cluster.ts";
import type { ClusterFacts } from "#relay/page/cluster-facts.ts";
import { histogram } from "#relay/page/histogram.ts";
import { html, type Markup } from "#relay/page/html.ts";
import { since } from "#relay/page/since.ts";
import { stateOf } from "#relay/report/readiness.ts";
import type { WaitingCount } from "#relay/report/waiting.ts";

/** Different reasons of a cluster that are shown. */
const MAX_REASONS = 10;

/** What the lifecycle of a node reports while the deletion of nodes is held back. */
const BRAKE = "BrakePulled";

/** How a cluster fares, as a row of the table. */
export function clusterRow(cluster: FollowedCluster, facts: ClusterFacts | undefined, nowMs: number): Markup {
  return html`<tr class="${isTroubled(cluster) ? "troubled" : "well"}">
<th scope="row">${cluster.name}</th>
<td>${stateOf(cluster)}</td>
<td>${cluster.objects}</td>
<td>${cluster.needed}</td>
<td>${cluster.inFlight}</td>
<td>${reasons(waitingOf(cluster), nowMs)}</td>
<td>${facts?.overdue ?? html`<abbr title="another process sweeps">–</abbr>`}</td>
<td>${budget(cluster, facts)}</td>
<td>${brake(cluster, nowMs)}</td>
<td>${histogram(facts?.joined ?? [])}</td>
</tr>
`;
}

/** Whether somebody may want to look. */
export function isTroubled(cluster: FollowedCluster): boolean {
  const { ready, configurationFault, limited, stop } = cluster;
  return (
    stop !== undefined ||
    !ready ||
    configurationFault !== undefined ||
    limited.length > 0 ||
    waitingOf(cluster).some(isLong)
  );
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

function reasons(waiting: readonly Reason[], nowMs: number): Markup {
  if (waiting.length === 0) return html`nothing`;
  const items = waiting
    .slice(0, MAX_REASONS)
    .map(
      ({ controller, reason, count, oldest }) =>
        html`<li><b>${count} × ${reason}</b> since ${since(oldest.sinceMs, nowMs)}, longest <code>${oldest.name}</code> <small>${controller}</small></li>`,
    );
  const more = waiting.length - items.length;
  return html`<ul>${items}${more > 0 ? html`<li>and ${more} more reasons</li>` : ""}</ul>`;
}

function budget({ limited }: FollowedCluster, facts: ClusterFacts | undefined): Markup {
  const slowed = limited.some(({ limit }) => limit === "unresponsive");
  const { throttled = 0, waitedSeconds = 0 } = facts ?? {};
  return html`${slowed ? html`<b>one invocation at a time</b>, ` : ""}${throttled} throttled, ${Math.round(waitedSeconds)} s held back`;
}

function brake(cluster: FollowedCluster, nowMs: number): Markup {
  const held = waitingOf(cluster).filter(({ reason }) => reason === BRAKE);
  const [first] = held;
  if (first === undefined) return html`holds nothing`;
  const nodes = held.reduce((sum, { count }) => sum + count, 0);
  return html`<b>pulled</b>: holds ${nodes} nodes since ${since(first.oldest.sinceMs, nowMs)}`;
}
