import { sanitizeText } from "#core/sanitize-text.ts";
import type { Stop } from "#core/stop.ts";
import type { LimitInForce } from "#kube/client/errors.ts";
import type { ClusterState } from "#relay/cluster-state.ts";
import type { PlatformState } from "#relay/delivery/check-platform.ts";
import { describeShard, type ShardStatus } from "#relay/sharding/shard.ts";

/** An HTTP answer as text. */
export interface Page {
  readonly status: number;
  readonly text: string;
}

/** The limits of a page: characters of a message, which may combine several texts, and clusters. */
const MAX_MESSAGE_CHARACTERS = 1_024;
const MAX_LINE_CHARACTERS = 256;
const MAX_CLUSTERS = 10_000;

/**
 * Returns whether the process is useful: it serves its only cluster, or one of several, on a platform that
 * can be reached.
 *
 * A replica that shares the clusters states which one it is, and is useful without a cluster, too.
 */
export function describeProcessReadiness(
  clusters: readonly ClusterState[],
  platform: PlatformState | undefined,
  shard?: ShardStatus,
  hasNoClusters = false,
): Page {
  const isWithoutClusters = hasNoClusters && clusters.length === 0 && platform?.reachable !== false;
  if (shard === undefined)
    return isWithoutClusters ? NO_CLUSTERS : describeClustersReadiness(clusters, platform);
  const words = describeShard(shard);
  if (shard.replicas === undefined) return buildUnavailablePage(words);
  const isWithoutShare = clusters.length === 0 && shard.own === 0 && shard.all > 0;
  const page = isWithoutShare || isWithoutClusters ? OK : describeClustersReadiness(clusters, platform);
  return { status: page.status, text: `${page.text.trimEnd()}; ${words}\n` };
}

/** No clusters: nothing is wrong, and there is nothing to do. */
const NO_CLUSTERS: Page = { status: 200, text: "ok: there are no clusters yet\n" };

function describeClustersReadiness(
  clusters: readonly ClusterState[],
  platform: PlatformState | undefined,
): Page {
  if (platform?.reachable === false)
    return buildUnavailablePage(
      `the function platform cannot be reached: ${sanitizeText(platform.message, MAX_MESSAGE_CHARACTERS)}`,
    );
  const [only] = clusters;
  if (only === undefined) return buildUnavailablePage("no cluster is followed");
  // With several clusters, a failing one affects only itself: this process serves the others.
  if (clusters.length > 1)
    return clusters.some(({ ready }) => ready)
      ? OK
      : buildUnavailablePage(`none of ${clusters.length} clusters is ready`);
  return only.ready ? buildReadyPage(only) : buildNotReadyPage(only);
}

/** Returns whether the whole of a cluster is served. */
export function describeReadiness(cluster: ClusterState): Page {
  if (!cluster.ready) return buildNotReadyPage(cluster);
  const leavesOut = cluster.limited.some(({ limit }) => !HARMLESS.has(limit));
  return leavesOut
    ? { status: 503, text: `cluster ${sanitizeText(cluster.name)} is ${describeLimits(cluster)}\n` }
    : buildReadyPage(cluster);
}

/** Lists all clusters, one line each. */
export function buildClustersPage(clusters: readonly ClusterState[]): Page {
  const lines = clusters
    .slice(0, MAX_CLUSTERS)
    .map((each) => `${sanitizeText(each.name)} ${describeState(each)}\n`);
  const more = clusters.length - lines.length;
  return { status: 200, text: lines.join("") + (more > 0 ? `and ${more} more\n` : "") };
}

const OK: Page = { status: 200, text: "ok" };

/** Limits that do not affect the cluster's objects. */
const HARMLESS: ReadonlySet<LimitInForce["limit"]> = new Set(["logLines", "unresponsive"]);

function buildReadyPage(cluster: ClusterState): Page {
  const { configurationFault: fault, limited, stop } = cluster;
  const remarks = [
    ...(stop === undefined ? [] : [describeStop(stop)]),
    ...(fault === undefined ? [] : [`as it was configured before: ${formatCodeAndMessage(fault)}`]),
    ...(limited.length === 0 ? [] : [describeLimits(cluster)]),
  ];
  return remarks.length === 0 ? OK : { status: 200, text: `ok, ${remarks.join("; ")}\n` };
}

function buildNotReadyPage(cluster: ClusterState): Page {
  const limits = cluster.limited.length === 0 ? "" : `; ${describeLimits(cluster)}`;
  return buildUnavailablePage(
    `cluster ${sanitizeText(cluster.name)} is not ready: ${describeFailure(cluster)}${limits}`,
  );
}

function buildUnavailablePage(text: string): Page {
  return { status: 503, text: `${text}\n` };
}

/** Describes the state of a cluster; each message is cut to this many characters. */
export function describeState(cluster: ClusterState, maxCharacters = MAX_LINE_CHARACTERS): string {
  if (!cluster.ready) return `not ready: ${describeFailure(cluster, maxCharacters)}`;
  if (cluster.stop !== undefined) return describeStop(cluster.stop);
  if (cluster.limited.length > 0) return describeLimits(cluster, maxCharacters);
  const fault = cluster.configurationFault;
  return fault === undefined ? "ok" : `misconfigured: ${formatCodeAndMessage(fault, maxCharacters)}`;
}

function describeFailure({ failure }: ClusterState, maxCharacters?: number): string {
  return failure === undefined ? "listing" : formatCodeAndMessage(failure, maxCharacters);
}

function describeLimits({ limited }: ClusterState, maxCharacters = MAX_MESSAGE_CHARACTERS): string {
  return `limited: ${limited.map(({ limit, message }) => `${limit}: ${sanitizeText(message, maxCharacters)}`).join("; ")}`;
}

function describeStop(stop: Stop): string {
  return stop === "unproven"
    ? "what is stopped cannot be read: deletions that are not proven by themselves wait"
    : `stopped: ${stop}`;
}

/** Formats a message that may contain text from the cluster's own server. */
function formatCodeAndMessage(
  { code, message }: { readonly code: string; readonly message: string },
  maxCharacters = MAX_MESSAGE_CHARACTERS,
): string {
  return `${sanitizeText(code)}: ${sanitizeText(message, maxCharacters)}`;
}
