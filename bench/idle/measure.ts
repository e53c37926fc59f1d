import { cpus } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import type { IdleMeasurement, IdleUsage, InitializingUsage } from "#bench/idle/measurement.ts";
import { type RelayProcess, startRelayProcess } from "#bench/idle/relay-process.ts";
import { type IdleStage, type IdleStageOptions, setIdleStage } from "#bench/idle/stage.ts";
import { watchUsage } from "#bench/idle/watch-usage.ts";
import { readUsage } from "#bench/process-usage.ts";
import type { Programs } from "#bench/programs.ts";
import { CONTENDER_BY_NAME } from "#bench/rows.ts";

export interface IdleOptions extends Omit<IdleStageOptions, "binaries"> {
  readonly programs: Programs;
  /** The seconds for which each process is watched. */
  readonly seconds: number;
  /** Whether to measure the stock controller, too. */
  readonly stock: boolean;
  /** Ends the measurement early; all started processes end in any case. */
  readonly signal: AbortSignal;
}

/** The aftermath of a start is over after this time. */
const SETTLING_MS = 15_000;

/** The relay's maximum time for initializing all nodes. */
const INITIALIZING_LIMIT_MS = 300_000;

/** Runs a relay that initializes all nodes, and watches another one without work. */
export async function measureIdle(options: IdleOptions): Promise<IdleMeasurement> {
  const { clusters, kubeApiservers, nodesEach, heartbeatSeconds, say, signal } = options;
  const startedAt = new Date().toISOString();
  const stage = await setIdleStage({ ...options, binaries: options.programs.controlPlane });
  try {
    signal.throwIfAborted();
    say("a relay initializes all nodes");
    const initializing = await initialize(stage, options);
    say(JSON.stringify(initializing));
    say(`an idle relay, ${options.seconds} s`);
    const idle = await measureRelay(stage, options);
    say(JSON.stringify(idle));
    const stock = options.stock ? await measureStock(stage, options) : undefined;
    return {
      startedAt,
      cpu: cpus()[0]?.model ?? "unknown",
      cores: cpus().length,
      node: process.version,
      clusters,
      kubeApiservers,
      nodesEach,
      heartbeatSeconds,
      initializing,
      ...idle,
      ...(stock === undefined ? {} : { stock }),
    };
  } finally {
    await stage.close();
  }
}

async function initialize(stage: IdleStage, options: IdleOptions): Promise<InitializingUsage> {
  const startedAt = performance.now();
  const relay = await startRelayProcess(stage.clustersFile, stage.environment);
  try {
    await waitUntilDone(relay, options, INITIALIZING_LIMIT_MS);
    const seconds = (performance.now() - startedAt) / 1000;
    const { cpuSeconds, peakMemoryMiB } = await readUsage([relay.pid]);
    const left = await stage.uninitialized();
    if (left > 0) throw new Error(`the relay calls all nodes initialized, and ${left} are not`);
    return { seconds: round(seconds), cpuSeconds: round(cpuSeconds), peakMiB: round(peakMemoryMiB) };
  } finally {
    await relay.stop();
  }
}

async function measureRelay(
  stage: IdleStage,
  options: IdleOptions,
): Promise<Pick<IdleMeasurement, "idle" | "heap">> {
  const relay = await startRelayProcess(stage.clustersFile, stage.environment);
  try {
    await waitUntilDone(relay, options, INITIALIZING_LIMIT_MS);
    await sleep(SETTLING_MS, undefined, { signal: options.signal });
    const idle = await watchUsage(relay.pid, options.seconds, options.signal);
    await waitUntilDone(relay, options, 0);
    const { heapTotal, heapUsed, external } = await relay.heap();
    const heap = {
      totalMiB: round(heapTotal / 2 ** 20),
      usedMiB: round(heapUsed / 2 ** 20),
      externalMiB: round(external / 2 ** 20),
    };
    return { idle, heap };
  } finally {
    await relay.stop();
  }
}

/** Measures one stock controller, for the first of the clusters. */
async function measureStock({ bench }: IdleStage, options: IdleOptions): Promise<IdleUsage> {
  options.say(`an idle stock controller, ${options.seconds} s`);
  const running = await CONTENDER_BY_NAME["stock-defaults"].start({
    stage: bench,
    programs: options.programs,
    instances: [],
    isAnnounced: false,
  });
  try {
    await sleep(SETTLING_MS, undefined, { signal: options.signal });
    return await watchUsage(running.pids[0] ?? 0, options.seconds, options.signal);
  } finally {
    const failure = running.failure();
    await running.stop();
    if (failure !== undefined) options.say(failure);
  }
}

/** Waits until the relay follows every cluster, knows every node, and has no work left. */
async function waitUntilDone(relay: RelayProcess, options: IdleOptions, limitMs: number): Promise<void> {
  const deadline = performance.now() + limitMs;
  for (;;) {
    const state = await relay.state();
    const isWhole =
      state.readyClusters === options.clusters && state.objects === options.clusters * options.nodesEach;
    if (isWhole && state.unfinished === 0) return;
    if (performance.now() >= deadline) throw new Error(`the relay is not done: ${JSON.stringify(state)}`);
    await sleep(200, undefined, { signal: options.signal });
  }
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
