import { cpus } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { JOINING_LIMIT_MS } from "#bench/hostile/join-steadily.ts";
import type { HostilePhase, HostileResults } from "#bench/hostile/measurement.ts";
import { listPageIssues } from "#bench/hostile/operator-view.ts";
import { type RelayUnderAttack, startRelayUnderAttack } from "#bench/hostile/relay-under-attack.ts";
import {
  type HostileBenchStage,
  type HostileStageOptions,
  setHostileBenchStage,
} from "#bench/hostile/stage.ts";
import {
  HOSTILE,
  type PhaseMeasurement,
  readClusterPages,
  summarizeJoining,
  watchPhase,
} from "#bench/hostile/watch-phase.ts";
import { parseRelayState } from "#bench/idle/relay-process.ts";

export interface HostileBenchOptions extends HostileStageOptions {
  readonly attacks: readonly string[];
  /** The seconds of each phase. */
  readonly seconds: number;
  readonly version: string;
  /** Ends the measurement early; all started processes end in any case. */
  readonly signal: AbortSignal;
  /** Called with all results so far, after each phase. */
  readonly onResults: (results: HostileResults) => Promise<void>;
}

/** The aftermath of a start is over after this time. */
const SETTLING_MS = 10_000;
/** The pause after an attack, and after its recovery. */
const RESTING_MS = 3_000;
/** The maximum time of a relay for initializing the existing nodes. */
const START_LIMIT_MS = 300_000;
/** The maximum time of the hostile cluster's recovery. */
const HEALING_LIMIT_MS = 120_000;

interface HostileDependencies {
  readonly stage: HostileBenchStage;
  readonly options: Pick<HostileBenchOptions, "clusters" | "nodesEach" | "seconds" | "signal">;
}

/** The prefix of a phase in which an attack runs against the null sink. */
const SINK = "sink ";
const isAttack = (name: string): boolean => name !== "quiet" && name !== "noise" && !name.startsWith(SINK);

/**
 * Measures a quiet phase, one of noise, and each attack in turn, with a pause after each until the cluster
 * has recovered.
 */
export async function measureHostile(options: HostileBenchOptions): Promise<HostileResults> {
  const { clusters, nodesEach, rate, seconds, bytesPerSecond, version, say, signal } = options;
  const facts = readMachineFacts();
  const phases: HostilePhase[] = [];
  const results = (): HostileResults => {
    return { ...facts, version, clusters, nodesEach, rate, seconds, bytesPerSecond, phases };
  };
  const stage = await setHostileBenchStage(options);
  const world = { stage, options };
  let relay: RelayUnderAttack | undefined;
  try {
    for (const name of ["quiet", "noise", ...options.attacks]) {
      signal.throwIfAborted();
      if (relay === undefined || relay.hasEnded()) relay = await startWell(world);
      const phase = await measurePhase(name, relay, world);
      phases.push(phase);
      say(JSON.stringify(phase));
      if (phase.ended) say(`the relay ended: ${relay.lastWords()}`);
      await options.onResults(results());
    }
    return results();
  } finally {
    await relay?.stop();
    await stage.close();
  }
}

/** Returns the time of a run and the facts of its machine. */
export function readMachineFacts() {
  return {
    startedAt: new Date().toISOString(),
    cpu: cpus()[0]?.model ?? "unknown",
    cores: cpus().length,
    node: process.version,
  };
}

/** Starts the relay; resolves once it has initialized the existing nodes. */
export async function startWell({ stage, options }: HostileDependencies): Promise<RelayUnderAttack> {
  const relay = await startRelayUnderAttack(stage.clustersFile, stage.environment);
  const deadline = performance.now() + START_LIMIT_MS;
  for (;;) {
    const answer = await fetch(`${relay.url}/metrics`).then(
      (each) => each.text(),
      () => "",
    );
    const state = parseRelayState(answer);
    const isWhole = state.objects >= (options.clusters - 1) * options.nodesEach;
    if (state.readyClusters === options.clusters && isWhole && state.unfinished < options.clusters) break;
    if (relay.hasEnded() || performance.now() > deadline) {
      await relay.stop();
      throw new Error(`the relay did not get well: ${JSON.stringify(state)} ${relay.lastWords()}`);
    }
    await sleep(200, undefined, { signal: options.signal });
  }
  await sleep(SETTLING_MS, undefined, { signal: options.signal });
  return relay;
}

/** Measures one phase with its recovery: "quiet", "noise", an attack, or "sink" and an attack's name. */
export async function measurePhase(
  name: string,
  relay: RelayUnderAttack,
  { stage, options }: HostileDependencies,
): Promise<HostilePhase> {
  const { attacker, joined } = stage;
  if (name === "noise") await attacker.order("/noise/modified-flood");
  else if (name.startsWith(SINK)) await attacker.order(`/noise/${name.slice(SINK.length)}`);
  else if (name !== "quiet") await attacker.order(`/attack/${name}`);
  const fromMs = Date.now();
  const watched = await watchPhase(name, options.seconds, { relay, stage });
  const toMs = Date.now();
  await attacker.order("/rest");
  const healedSeconds = await waitUntilWell(name, relay, watched);
  // After this time the result of every joined node is known.
  const isKnown = (): boolean => joined.some(({ joinedAtMs }) => joinedAtMs >= toMs + RESTING_MS);
  const deadline = Date.now() + JOINING_LIMIT_MS + RESTING_MS;
  await sleep(RESTING_MS, undefined, { signal: options.signal });
  while (!isKnown() && Date.now() < deadline) await sleep(200, undefined, { signal: options.signal });
  return {
    ...watched,
    ...summarizeJoining(joined, fromMs, toMs),
    ...(healedSeconds === undefined ? {} : { healedSeconds }),
  };
}

/**
 * Returns the seconds until the hostile cluster has recovered; undefined above the limit, or if no recovery
 * was necessary.
 */
async function waitUntilWell(
  name: string,
  relay: RelayUnderAttack,
  { ended }: PhaseMeasurement,
): Promise<number | undefined> {
  if (ended || !isAttack(name)) return undefined;
  const startedAt = performance.now();
  while (performance.now() - startedAt < HEALING_LIMIT_MS && !relay.hasEnded()) {
    const page = await readClusterPages(relay.url);
    if (page.trim() !== "" && listPageIssues(page, HOSTILE).length === 0) {
      return Math.round((performance.now() - startedAt) / 100) / 10;
    }
    await sleep(200);
  }
  return undefined;
}
