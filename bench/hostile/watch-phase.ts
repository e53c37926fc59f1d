import { setTimeout as sleep } from "node:timers/promises";
import { JOINING_LIMIT_MS } from "#bench/hostile/join-steadily.ts";
import type { HostilePhase } from "#bench/hostile/measurement.ts";
import {
  countInvocations,
  isUnreadyInMetrics,
  listNewLimits,
  listPageIssues,
  parseLimits,
} from "#bench/hostile/operator-view.ts";
import { pollHealth } from "#bench/hostile/poll-health.ts";
import type { RelayUnderAttack } from "#bench/hostile/relay-under-attack.ts";
import type { HostileBenchStage } from "#bench/hostile/stage.ts";
import { readUsage } from "#bench/process-usage.ts";
import { getPercentile } from "#bench/report/percentile.ts";

/** The name of the attacker's cluster. */
export const HOSTILE = "hostile";

/** The interval of reading pages and metrics, shorter than an operator's Prometheus would use. */
const LOOK_EVERY_MS = 2_000;

/** The measurements during a phase; the results of nodes that joined in it follow later. */
export type PhaseMeasurement = Omit<
  HostilePhase,
  "nodes" | "missing" | "joiningP50Ms" | "joiningP99Ms" | "healedSeconds"
>;

/** Watches a relay from outside for so many seconds. */
export async function watchPhase(
  name: string,
  seconds: number,
  { relay, stage }: { readonly relay: RelayUnderAttack; readonly stage: HostileBenchStage },
): Promise<PhaseMeasurement> {
  await relay.resetPeak();
  const startedAt = performance.now();
  const [logBefore, sentBefore] = [relay.logBytes(), await stage.attacker.sentBytes()];
  const cpuBefore = await readUsage([relay.pid]);
  const before = await readText(`${relay.url}/metrics`);
  const limitsBefore = parseLimits(before, HOSTILE);
  const onPages = new Set<string>();
  const inMetrics = new Set<string>();
  let metrics = before;
  let peakMiB = 0;
  const poll = pollHealth(`${relay.url}/healthz`);
  while (performance.now() - startedAt < seconds * 1000 && !relay.hasEnded()) {
    peakMiB = Math.max(peakMiB, await relay.peakMiB());
    const leftMs = seconds * 1000 - (performance.now() - startedAt);
    await sleep(Math.min(LOOK_EVERY_MS, leftMs));
    const page = await readClusterPages(relay.url);
    for (const trouble of listPageIssues(page, HOSTILE)) onPages.add(trouble);
    metrics = (await readText(`${relay.url}/metrics`)) || metrics;
    for (const limit of listNewLimits(limitsBefore, parseLimits(metrics, HOSTILE))) inMetrics.add(limit);
    if (isUnreadyInMetrics(metrics, HOSTILE)) inMetrics.add("not ready");
  }
  const elapsedSeconds = (performance.now() - startedAt) / 1000;
  const cpuAfter = await readUsage([relay.pid]);
  const logBytes = relay.logBytes() - logBefore;
  peakMiB = Math.max(peakMiB, await relay.peakMiB());
  const residentMiB = await relay.residentMiB();
  const health = await poll.end();
  return {
    name,
    seconds: round(elapsedSeconds),
    healthzP50Ms: round(getPercentile(health.latenciesMs, 0.5) ?? 0),
    healthzP99Ms: round(getPercentile(health.latenciesMs, 0.99) ?? 0),
    healthzFailures: health.failures,
    peakMiB: round(peakMiB),
    residentMiB: round(residentMiB),
    cpuSeconds: round(Math.max(0, cpuAfter.cpuSeconds - cpuBefore.cpuSeconds)),
    logBytes,
    invocations: Math.max(0, countInvocations(metrics) - countInvocations(before)),
    hostileInvocations: Math.max(0, countInvocations(metrics, HOSTILE) - countInvocations(before, HOSTILE)),
    sentBytes: (await stage.attacker.sentBytes()) - sentBefore,
    onPages: [...onPages].sort(),
    inMetrics: [...inMetrics].sort(),
    ended: relay.hasEnded(),
  };
}

/**
 * Summarizes the results of the others' nodes that joined between two times, in milliseconds since the epoch.
 */
export function summarizeJoining(
  joined: HostileBenchStage["joined"],
  fromMs: number,
  toMs: number,
): Pick<HostilePhase, "nodes" | "missing" | "joiningP50Ms" | "joiningP99Ms"> {
  const within = joined.filter(({ joinedAtMs }) => joinedAtMs >= fromMs && joinedAtMs < toMs);
  const latenciesMs = within.map(({ tookMs }) => tookMs ?? JOINING_LIMIT_MS);
  return {
    nodes: within.length,
    missing: within.filter(({ tookMs }) => tookMs === undefined).length,
    joiningP50Ms: round(getPercentile(latenciesMs, 0.5) ?? 0),
    joiningP99Ms: round(getPercentile(latenciesMs, 0.99) ?? 0),
  };
}

/** Reads the page of all clusters, or the cluster's own if that is missing. */
export async function readClusterPages(url: string): Promise<string> {
  const all = await readText(`${url}/readyz/clusters`);
  return `${all}\n${await readText(`${url}/readyz/clusters/${HOSTILE}`)}`;
}

const ANSWER_LIMIT_MS = 20_000;

async function readText(url: string): Promise<string> {
  try {
    return await (await fetch(url, { signal: AbortSignal.timeout(ANSWER_LIMIT_MS) })).text();
  } catch {
    return "";
  }
}

/** Rounds to a tenth. */
function round(value: number): number {
  return Math.round(value * 10) / 10;
}
