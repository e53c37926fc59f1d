import { setTimeout as sleep } from "node:timers/promises";
import { JOINING_LIMIT_MS } from "#bench/hostile/join-steadily.ts";
import type { HostilePhase } from "#bench/hostile/measurement.ts";
import { pollHealth } from "#bench/hostile/poll-health.ts";
import type { RelayUnderAttack } from "#bench/hostile/relay-under-attack.ts";
import type { HostileBenchStage } from "#bench/hostile/stage.ts";
import {
  invocationsOf,
  isUnreadyInMetrics,
  limitsInMetrics,
  metSince,
  troublesOnPage,
} from "#bench/hostile/what-the-operator-sees.ts";
import { usageOf } from "#bench/process-usage.ts";
import { percentile } from "#bench/report/percentile.ts";

/** The name of the attacker's cluster. */
export const HOSTILE = "hostile";

/** How often pages and metrics are looked at, as an operator's Prometheus would not do. */
const LOOK_EVERY_MS = 2_000;

/** What was measured while a phase went on; how nodes fared that joined within it is known later. */
export type Watched = Omit<
  HostilePhase,
  "nodes" | "missing" | "joiningP50Ms" | "joiningP99Ms" | "healedSeconds"
>;

/** Watches a relay for so many seconds from outside. */
export async function watchPhase(
  name: string,
  seconds: number,
  { relay, stage }: { readonly relay: RelayUnderAttack; readonly stage: HostileBenchStage },
): Promise<Watched> {
  await relay.resetPeak();
  const startedAt = performance.now();
  const [logBefore, sentBefore] = [relay.logBytes(), await stage.attacker.sentBytes()];
  const cpuBefore = await usageOf([relay.pid]);
  const before = await textOf(`${relay.url}/metrics`);
  const limitsBefore = limitsInMetrics(before, HOSTILE);
  const onPages = new Set<string>();
  const inMetrics = new Set<string>();
  let metrics = before;
  let peakMiB = 0;
  const poll = pollHealth(`${relay.url}/healthz`);
  while (performance.now() - startedAt < seconds * 1000 && !relay.hasEnded()) {
    peakMiB = Math.max(peakMiB, await relay.peakMiB());
    const leftMs = seconds * 1000 - (performance.now() - startedAt);
    await sleep(Math.min(LOOK_EVERY_MS, leftMs));
    const page = await pageOf(relay.url);
    for (const trouble of troublesOnPage(page, HOSTILE)) onPages.add(trouble);
    metrics = (await textOf(`${relay.url}/metrics`)) || metrics;
    for (const limit of metSince(limitsBefore, limitsInMetrics(metrics, HOSTILE))) inMetrics.add(limit);
    if (isUnreadyInMetrics(metrics, HOSTILE)) inMetrics.add("not ready");
  }
  const elapsedSeconds = (performance.now() - startedAt) / 1000;
  const cpuAfter = await usageOf([relay.pid]);
  const logBytes = relay.logBytes() - logBefore;
  peakMiB = Math.max(peakMiB, await relay.peakMiB());
  const residentMiB = await relay.residentMiB();
  const health = await poll.end();
  return {
    name,
    seconds: round(elapsedSeconds),
    healthzP50Ms: round(percentile(health.latenciesMs, 0.5) ?? 0),
    healthzP99Ms: round(percentile(health.latenciesMs, 0.99) ?? 0),
    healthzFailures: health.failures,
    peakMiB: round(peakMiB),
    residentMiB: round(residentMiB),
    cpuSeconds: round(Math.max(0, cpuAfter.cpuSeconds - cpuBefore.cpuSeconds)),
    logBytes,
    invocations: Math.max(0, invocationsOf(metrics) - invocationsOf(before)),
    hostileInvocations: Math.max(0, invocationsOf(metrics, HOSTILE) - invocationsOf(before, HOSTILE)),
    sentBytes: (await stage.attacker.sentBytes()) - sentBefore,
    onPages: [...onPages].sort(),
    inMetrics: [...inMetrics].sort(),
    ended: relay.hasEnded(),
  };
}

/** How the nodes fared that joined the others between two times, in milliseconds since the epoch. */
export function joiningOf(
  joined: HostileBenchStage["joined"],
  fromMs: number,
  toMs: number,
): Pick<HostilePhase, "nodes" | "missing" | "joiningP50Ms" | "joiningP99Ms"> {
  const within = joined.filter(({ joinedAtMs }) => joinedAtMs >= fromMs && joinedAtMs < toMs);
  const latenciesMs = within.map(({ tookMs }) => tookMs ?? JOINING_LIMIT_MS);
  return {
    nodes: within.length,
    missing: within.filter(({ tookMs }) => tookMs === undefined).length,
    joiningP50Ms: round(percentile(latenciesMs, 0.5) ?? 0),
    joiningP99Ms: round(percentile(latenciesMs, 0.99) ?? 0),
  };
}

/** The page of all clusters, or the cluster's own where there is none. */
export async function pageOf(url: string): Promise<string> {
  const all = await textOf(`${url}/readyz/clusters`);
  return `${all}\n${await textOf(`${url}/readyz/clusters/${HOSTILE}`)}`;
}

const ANSWER_LIMIT_MS = 20_000;

async function textOf(url: string): Promise<string> {
  try {
    return await (await fetch(url, { signal: AbortSignal.timeout(ANSWER_LIMIT_MS) })).text();
  } catch {
    return "";
  }
}

/** To a tenth. */
function round(value: number): number {
  return Math.round(value * 10) / 10;
}
