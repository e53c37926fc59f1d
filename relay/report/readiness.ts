import { shown } from "#core/shown-text.ts";
import type { Stop } from "#core/stop.ts";
import type { LimitInForce } from "#kube/client/limit-name.ts";
import type { PlatformState } from "#relay/delivery/check-platform.ts";
import type { FollowedCluster } from "#relay/followed-cluster.ts";
import { type ShardStatus, wordsOfShard } from "#relay/sharding/shard.ts";

/** An answer in words. */
export interface Page {
  readonly status: number;
  readonly text: string;
}

/** Characters of a message, which may be put together of several texts, and clusters of a page. */
const MAX_MESSAGE_CHARACTERS = 1_024;
const MAX_LINE_CHARACTERS = 256;
const MAX_CLUSTERS = 10_000;

/**
 * Whether the process is of use: it serves its only cluster, or one of several, on a platform that can be reached. A replica that shares
 * the clusters with others says which of them it is, and is of use without a cluster, too.
 */
export function readinessOfAll(
  clusters: readonly FollowedCluster[],
  platform: PlatformState | undefined,
  shard?: ShardStatus,
  hasNoClusters = false,
): Page {
  const isNobodysYet = hasNoClusters && clusters.length === 0 && platform?.reachable !== false;
  if (shard === undefined) return isNobodysYet ? NO_CLUSTERS : readinessOfThese(clusters, platform);
  const words = wordsOfShard(shard);
  if (shard.replicas === undefined) return unready(words);
  const isNobodyIts = clusters.length === 0 && shard.own === 0 && shard.all > 0;
  const page = isNobodyIts || isNobodysYet ? OK : readinessOfThese(clusters, platform);
  return { status: page.status, text: `${page.text.trimEnd()}; ${words}\n` };
}

/** Nothing is wrong, and nothing to be done. */
const NO_CLUSTERS: Page = { status: 200, text: "ok: there are no clusters yet\n" };

function readinessOfThese(clusters: readonly FollowedCluster[], platform: PlatformState | undefined): Page {
  if (platform?.reachable === false)
    return unready(
      `the function platform cannot be reached: ${shown(platform.message, MAX_MESSAGE_CHARACTERS)}`,
    );
  const [only] = clusters;
  if (only === undefined) return unready("no cluster is followed");
  // With more than one, a cluster's trouble is its own: this process goes on serving the others.
  if (clusters.length > 1)
    return clusters.some(({ ready }) => ready) ? OK : unready(`none of ${clusters.length} clusters is ready`);
  return only.ready ? ready(only) : notReady(only);
}

/** Whether all of a cluster is looked after. */
export function readinessOf(cluster: FollowedCluster): Page {
  if (!cluster.ready) return notReady(cluster);
  const leavesOut = cluster.limited.some(({ limit }) => !HARMLESS.has(limit));
  return leavesOut
    ? { status: 503, text: `cluster ${shown(cluster.name)} is ${limitsOf(cluster)}\n` }
    : ready(cluster);
}

/** All clusters, a line each. */
export function clustersPage(clusters: readonly FollowedCluster[]): Page {
  const lines = clusters.slice(0, MAX_CLUSTERS).map((each) => `${shown(each.name)} ${stateOf(each)}\n`);
  const more = clusters.length - lines.length;
  return { status: 200, text: lines.join("") + (more > 0 ? `and ${more} more\n` : "") };
}

const OK: Page = { status: 200, text: "ok" };

/** What these leave out are not the cluster's objects. */
const HARMLESS: ReadonlySet<LimitInForce["limit"]> = new Set(["logLines", "unresponsive"]);

function ready(cluster: FollowedCluster): Page {
  const { configurationFault: fault, limited, stop } = cluster;
  const remarks = [
    ...(stop === undefined ? [] : [wordsOfStop(stop)]),
    ...(fault === undefined ? [] : [`as it was configured before: ${codeAndMessage(fault)}`]),
    ...(limited.length === 0 ? [] : [limitsOf(cluster)]),
  ];
  return remarks.length === 0 ? OK : { status: 200, text: `ok, ${remarks.join("; ")}\n` };
}

function notReady(cluster: FollowedCluster): Page {
  const limits = cluster.limited.length === 0 ? "" : `; ${limitsOf(cluster)}`;
  return unready(`cluster ${shown(cluster.name)} is not ready: ${why(cluster)}${limits}`);
}

function unready(text: string): Page {
  return { status: 503, text: `${text}\n` };
}

/** How a cluster fares, in words of which each message is cut to so many characters. */
export function stateOf(cluster: FollowedCluster, maxCharacters = MAX_LINE_CHARACTERS): string {
  if (!cluster.ready) return `not ready: ${why(cluster, maxCharacters)}`;
  if (cluster.stop !== undefined) return wordsOfStop(cluster.stop);
  if (cluster.limited.length > 0) return limitsOf(cluster, maxCharacters);
  const fault = cluster.configurationFault;
  return fault === undefined ? "ok" : `misconfigured: ${codeAndMessage(fault, maxCharacters)}`;
}

function why({ failure }: FollowedCluster, maxCharacters?: number): string {
  return failure === undefined ? "listing" : codeAndMessage(failure, maxCharacters);
}

function limitsOf({ limited }: FollowedCluster, maxCharacters = MAX_MESSAGE_CHARACTERS): string {
  return `limited: ${limited.map(({ limit, message }) => `${limit}: ${shown(message, maxCharacters)}`).join("; ")}`;
}

function wordsOfStop(stop: Stop): string {
  return stop === "unproven"
    ? "what is stopped cannot be read: deletions that are not proven by themselves wait"
    : `stopped: ${stop}`;
}

/** Messages may hold what a cluster's own server said. */
function codeAndMessage(
  { code, message }: { readonly code: string; readonly message: string },
  maxCharacters = MAX_MESSAGE_CHARACTERS,
): string {
  return `${shown(code)}: ${shown(message, maxCharacters)}`;
}
