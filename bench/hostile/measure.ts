import { cpus } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { JOINING_LIMIT_MS } from "#bench/hostile/join-steadily.ts";
import type { HostilePhase, HostileResults } from "#bench/hostile/measurement.ts";
import { type RelayUnderAttack, startRelayUnderAttack } from "#bench/hostile/relay-under-attack.ts";
import {
  type HostileBenchStage,
  type HostileStageOptions,
  setHostileBenchStage,
} from "#bench/hostile/stage.ts";
import { HOSTILE, joiningOf, pageOf, type Watched, watchPhase } from "#bench/hostile/watch-phase.ts";
import { troublesOnPage } from "#bench/hostile/what-the-operator-sees.ts";
import { stateOf } from "#bench/idle/relay-process.ts";

export interface HostileBenchOptions extends HostileStageOptions {
  readonly attacks: readonly string[];
  /** Of each phase. */
  readonly seconds: number;
  readonly version: string;
  /** Ends it early; what was started is ended in any case. */
  readonly signal: AbortSignal;
  /** Called with all that there is so far, after each phase. */
  readonly onResults: (results: HostileResults) => Promise<void>;
}

/** What a start leaves behind is over by then. */
const SETTLING_MS = 10_000;
/** After an attack, and after its healing. */
const RESTING_MS = 3_000;
/** How long a relay may take to initialize what stands there. */
const START_LIMIT_MS = 300_000;
/** How long the hostile cluster may take to be well again. */
const HEALING_LIMIT_MS = 120_000;

interface World {
  readonly stage: HostileBenchStage;
  readonly options: Pick<HostileBenchOptions, "clusters" | "nodesEach" | "seconds" | "signal">;
}

/** With which the name of a phase begins in which an attack goes on against nobody of ours. */
const SINK = "sink ";
const isAttack = (name: string): boolean => name !== "quiet" && name !== "noise" && !name.startsWith(SINK);

/** A quiet phase, one of noise, and each attack in turn, with a rest behind each until the cluster is well. */
export async function measureHostile(options: HostileBenchOptions): Promise<HostileResults> {
  const { clusters, nodesEach, rate, seconds, bytesPerSecond, version, say, signal } = options;
  const facts = factsOfMachine();
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

/** When and on what a run is. */
export function factsOfMachine() {
  return {
    startedAt: new Date().toISOString(),
    cpu: cpus()[0]?.model ?? "unknown",
    cores: cpus().length,
    node: process.version,
  };
}

/** Starts the relay, and resolves once it has initialized what stands there. */
export async function startWell({ stage, options }: World): Promise<RelayUnderAttack> {
  const relay = await startRelayUnderAttack(stage.clustersFile, stage.environment);
  const deadline = performance.now() + START_LIMIT_MS;
  for (;;) {
    const answer = await fetch(`${relay.url}/metrics`).then(
      (each) => each.text(),
      () => "",
    );
    const state = stateOf(answer);
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

/** Measures one phase: "quiet", "noise", an attack, or "sink" and the name of one, with its healing. */
export async function measurePhase(
  name: string,
  relay: RelayUnderAttack,
  { stage, options }: World,
): Promise<HostilePhase> {
  const { attacker, joined } = stage;
  if (name === "noise") await attacker.order("/noise/modified-flood");
  else if (name.startsWith(SINK)) await attacker.order(`/noise/${name.slice(SINK.length)}`);
  else if (name !== "quiet") await attacker.order(`/attack/${name}`);
  const fromMs = Date.now();
  const watched = await watchPhase(name, options.seconds, { relay, stage });
  const toMs = Date.now();
  await attacker.order("/rest");
  const healedSeconds = await untilWell(name, relay, watched);
  // Whoever joined at the end is known about by then, at the latest.
  const isKnown = (): boolean => joined.some(({ joinedAtMs }) => joinedAtMs >= toMs + RESTING_MS);
  const deadline = Date.now() + JOINING_LIMIT_MS + RESTING_MS;
  await sleep(RESTING_MS, undefined, { signal: options.signal });
  while (!isKnown() && Date.now() < deadline) await sleep(200, undefined, { signal: options.signal });
  return {
    ...watched,
    ...joiningOf(joined, fromMs, toMs),
    ...(healedSeconds === undefined ? {} : { healedSeconds }),
  };
}

/** Seconds until the hostile cluster is well; undefined where it is not within the limit, or there was nothing to heal of. */
async function untilWell(
  name: string,
  relay: RelayUnderAttack,
  { ended }: Watched,
): Promise<number | undefined> {
  if (ended || !isAttack(name)) return undefined;
  const startedAt = performance.now();
  while (performance.now() - startedAt < HEALING_LIMIT_MS && !relay.hasEnded()) {
    const page = await pageOf(relay.url);
    if (page.trim() !== "" && troublesOnPage(page, HOSTILE).length === 0) {
      return Math.round((performance.now() - startedAt) / 100) / 10;
    }
    await sleep(200);
  }
  return undefined;
}
