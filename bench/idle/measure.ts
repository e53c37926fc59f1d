import { cpus } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import type { IdleMeasurement, IdleUsage, InitializingUsage } from "#bench/idle/measurement.ts";
import { type RelayProcess, startRelayProcess } from "#bench/idle/relay-process.ts";
import { type IdleStage, type IdleStageOptions, setIdleStage } from "#bench/idle/stage.ts";
import { watchUsage } from "#bench/idle/watch-usage.ts";
import { usageOf } from "#bench/process-usage.ts";
import type { Programs } from "#bench/programs.ts";
import { CONTENDER_BY_NAME } from "#bench/rows.ts";

export interface IdleOptions extends Omit<IdleStageOptions, "binaries"> {
  readonly programs: Programs;
  /** How long each process is watched. */
  readonly seconds: number;
  /** Whether the stock controller is measured too. */
  readonly stock: boolean;
  /** Ends it early; what was started is ended in any case. */
  readonly signal: AbortSignal;
}

/** What a start leaves behind is over by then. */
const SETTLING_MS = 15_000;

/** How long the relay may take to initialize everything. */
const INITIALIZING_LIMIT_MS = 300_000;

/** Has a relay initialize all nodes, and watches another one that finds nothing to do. */
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
    await untilDone(relay, options, INITIALIZING_LIMIT_MS);
    const seconds = (performance.now() - startedAt) / 1000;
    const { cpuSeconds, peakMemoryMiB } = await usageOf([relay.pid]);
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
    await untilDone(relay, options, INITIALIZING_LIMIT_MS);
    await sleep(SETTLING_MS, undefined, { signal: options.signal });
    const idle = await watchUsage(relay.pid, options.seconds, options.signal);
    await untilDone(relay, options, 0);
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

/** One stock controller, for the first of the clusters. */
async function measureStock({ bench }: IdleStage, options: IdleOptions): Promise<IdleUsage> {
  options.say(`an idle stock controller, ${options.seconds} s`);
  const running = await CONTENDER_BY_NAME["stock-defaults"].start({
    stage: bench,
    programs: options.programs,
    instances: [],
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

/** Waits until the relay follows every cluster, knows every node, and nothing is left to be done. */
async function untilDone(relay: RelayProcess, options: IdleOptions, limitMs: number): Promise<void> {
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
