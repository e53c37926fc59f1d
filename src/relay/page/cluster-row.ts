import type { ControllerStatus } from "#relay/cluster-relay.ts";
import type { ClusterState } from "#relay/cluster-state.ts";
import type { Bucket, ClusterFacts } from "#relay/page/cluster-facts.ts";
import { html, type Markup } from "#relay/page/html.ts";
import { HEALTH, type Health } from "#relay/page/parts.ts";
import { findRunbook, RUNBOOKS } from "#relay/page/runbooks.ts";
import type { WaitingCount } from "#relay/report/waiting.ts";

/** The number of different reasons shown for a cluster. */
const MAX_REASONS = 10;

/** The code that the node lifecycle reports while the brake holds deletions back. */
const BRAKE = "BrakePulled";

/** Returns the worst known state of a cluster. */
export function getHealth(cluster: ClusterState): Health {
  return selectWorst(listIssues(cluster), listWaiting(cluster));
}

function selectWorst([worst]: readonly Issue[], waiting: readonly WaitingReason[]): Health {
  return worst?.health ?? (waiting.some(isLong) ? "waiting" : "ok");
}

/** Renders the state of a cluster as a row of the table. */
export function renderClusterRow(
  cluster: ClusterState,
  facts: ClusterFacts | undefined,
  nowMs: number,
): Markup {
  const [issues, waiting] = [listIssues(cluster), listWaiting(cluster)];
  const health = selectWorst(issues, waiting);
  const cells = [
    renderState(issues, health),
    html`${cluster.objects}`,
    html`${cluster.needed}`,
    html`${cluster.inFlight}`,
    renderReasons(cluster, waiting, nowMs),
    renderMissed(cluster, facts),
    renderCloudCalls(cluster, facts),
    renderBrake(cluster, waiting, nowMs),
    renderHistogram(facts?.joined ?? []),
  ];
  return html`<tr class="${health}">
<th scope="row">${cluster.name}</th>
${cells.map((cell) => html`<td>${cell}</td>\n`)}</tr>
`;
}

/** Renders a link that keeps the keyboard focus when the page replaces its content. */
function renderLink(cluster: ClusterState, column: string, href: string, words: string | Markup): Markup {
  return html`<a id="${`${column}/${cluster.name}`}" href="${href}">${words}</a>`;
}

/** A problem of a whole cluster, the worst first. Waiting objects have their own column. */
interface Issue {
  readonly health: Exclude<Health, "waiting" | "ok">;
  /** Contains a link for each code. */
  readonly why: Markup;
}

function listIssues(cluster: ClusterState): readonly Issue[] {
  const { ready, failure, stop, limited, configurationFault: fault } = cluster;
  const coded = (runbook: string, code: string): Markup =>
    renderLink(cluster, `state/${code}`, `${RUNBOOKS}${runbook}`, code);
  const issues: Issue[] = [];
  if (!ready && failure === undefined) issues.push({ health: "failing", why: html`listing` });
  if (!ready && failure !== undefined) {
    const { code, message } = failure;
    const runbook = findFailureRunbook(cluster, code);
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

/** Renders the word of the row's colour, its reason, and what else is wrong. */
function renderState([first, ...others]: readonly Issue[], health: Health): Markup {
  const word = html`<b class="word">${HEALTH[health].word}</b>`;
  if (first === undefined) return word;
  const rest = others.map((issue) => html`; ${HEALTH[issue.health].word}: ${issue.why}`);
  return html`${word}: ${first.why}${rest}`;
}

function findFailureRunbook({ configurationFault: fault }: ClusterState, code: string): string {
  if (code === "Quarantined") return "cluster-quarantined";
  return fault?.code === code ? "cluster-misconfigured" : "cluster-not-ready";
}

interface WaitingReason extends WaitingCount {
  readonly controller: ControllerStatus["name"];
}

function isLong({ age }: WaitingCount): boolean {
  return age !== "lt1m";
}

/** Returns the waiting reasons, the longest wait first. */
function listWaiting({ controllers }: ClusterState): readonly WaitingReason[] {
  return controllers
    .flatMap(({ name, waiting }) => waiting.map((each) => ({ ...each, controller: name })))
    .sort((a, b) => a.oldest.sinceMs - b.oldest.sinceMs);
}

function renderReasons(cluster: ClusterState, waiting: readonly WaitingReason[], nowMs: number): Markup {
  if (waiting.length === 0) return html`nothing`;
  const items = waiting.slice(0, MAX_REASONS).map(({ controller, reason, age, count, oldest }) => {
    const code = renderLink(
      cluster,
      `${controller}/${reason}/${age}`,
      findRunbook(reason, controller),
      reason,
    );
    return html`<li><b>${count} × ${code}</b> since ${renderTimeSince(oldest.sinceMs, nowMs)}, longest <code>${oldest.name}</code> <small>${controller}</small></li>`;
  });
  const more = waiting.length - items.length;
  return html`<ul>${items}${more > 0 ? html`<li>and ${more} more reasons</li>` : ""}</ul>`;
}

function renderMissed(cluster: ClusterState, facts: ClusterFacts | undefined): Markup {
  const count = facts?.overdue;
  if (count === undefined) return html`not counted here`;
  return count === 0
    ? html`0`
    : renderLink(cluster, "missed", `${RUNBOOKS}sweep-finds-gap`, html`<b>${count}</b>`);
}

function renderCloudCalls(cluster: ClusterState, facts: ClusterFacts | undefined): Markup {
  const isSlowed = cluster.limited.some(({ limit }) => limit === "unresponsive");
  const { throttled = 0, waitedSeconds = 0 } = facts ?? {};
  const words = `${throttled} throttled`;
  const calls =
    throttled > 0 ? renderLink(cluster, "cloud", `${RUNBOOKS}cloud-throttles`, words) : html`${words}`;
  return html`${isSlowed ? html`<b>one invocation at a time</b>, ` : ""}${calls}, ${Math.round(waitedSeconds)} s held back`;
}

function renderBrake(cluster: ClusterState, waiting: readonly WaitingReason[], nowMs: number): Markup {
  const held = waiting.filter(({ reason }) => reason === BRAKE);
  const [first] = held;
  if (first === undefined) return html`none held back`;
  const nodes = held.reduce((sum, { count }) => sum + count, 0);
  const words = html`<b>${nodes} held back</b>`;
  const linked = renderLink(cluster, "brake", findRunbook(BRAKE, first.controller), words);
  return html`${linked} since ${renderTimeSince(first.oldest.sinceMs, nowMs)}`;
}

/** Renders a time, and how long ago that is. */
function renderTimeSince(atMs: number, nowMs: number): Markup {
  const at = isDate(atMs) ? new Date(atMs).toISOString() : "";
  return html`<time datetime="${at}">${at.slice(0, 19).replace("T", " ")}</time> (${formatAge(nowMs - atMs)})`;
}

/** Returns whether a time fits into a Date; API servers can send any number. */
function isDate(atMs: number): boolean {
  return !Number.isNaN(new Date(atMs).getTime());
}

function formatAge(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1_000));
  const [unit, length] = UNITS.find(([, size]) => seconds >= size) ?? ["s", 1];
  return `${Math.floor(seconds / length)} ${unit}`;
}

const UNITS: readonly (readonly [string, number])[] = [
  ["d", 86_400],
  ["h", 3_600],
  ["min", 60],
];

const BAR_WIDTH = 8;

const HEIGHT = 24;

/** Renders a histogram as bars and as text. Buckets are in order, and each includes those before it. */
function renderHistogram(buckets: readonly Bucket[]): Markup {
  const total = buckets.at(-1)?.count ?? 0;
  if (total === 0) return html`none yet`;
  const own = buckets.map(({ seconds, count }, index) => ({
    within: formatBound(seconds, buckets),
    count: count - (buckets[index - 1]?.count ?? 0),
  }));
  const most = Math.max(...own.map(({ count }) => count));
  const bars = own.flatMap(({ within: label, count }, index) =>
    count === 0 ? [] : [renderBar(index, count / most, `${label}: ${count}`)],
  );
  const words = `${total} joined, half ${formatQuantile(buckets, 0.5)}, 99 % ${formatQuantile(buckets, 0.99)}`;
  const width = buckets.length * BAR_WIDTH;
  return html`<svg role="img" width="${width}" height="${HEIGHT}" viewBox="0 0 ${width} ${HEIGHT}"><title>${words}</title>${bars}</svg><small>${words}</small>`;
}

/** Renders a bar that is visible if its bucket is not empty, however small the value. */
function renderBar(index: number, part: number, words: string): Markup {
  const height = Math.max(1, Math.round(part * HEIGHT));
  const y = HEIGHT - height;
  return html`<rect x="${index * BAR_WIDTH}" y="${y}" width="${BAR_WIDTH - 1}" height="${height}"><title>${words}</title></rect>`;
}

/** Formats a quantile as the bounds of its bucket; a histogram knows no more. */
function formatQuantile(buckets: readonly Bucket[], part: number): string {
  const total = buckets.at(-1)?.count ?? 0;
  const bucket = buckets.find(({ count }) => count >= total * part);
  return formatBound(bucket?.seconds ?? Number.POSITIVE_INFINITY, buckets);
}

function formatBound(seconds: number, buckets: readonly Bucket[]): string {
  return Number.isFinite(seconds) ? `within ${seconds} s` : `after ${buckets.at(-2)?.seconds ?? 0} s`;
}
