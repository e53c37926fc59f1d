import type { Worker } from "node:worker_threads";
import { vi } from "vitest";
import type { FromWorker, ToWorker, WorkerStart } from "#relay/workers/messages.ts";
import { createPool, type Pool, type PoolOptions } from "#relay/workers/pool.ts";
import type { WorkerThread } from "#relay/workers/running-worker.ts";

/** A pool whose turns follow the answers of its workers instead of the time. */
export interface SteppedPool {
  readonly pool: Pool;
  /** Ends the turns. */
  stop(): void;
}

/** The options of a pool whose threads are Node's workers. */
export interface SteppedPoolOptions extends Omit<PoolOptions, "spawn"> {
  readonly spawn: (start: WorkerStart) => Worker;
  /** Has a 1 at the id of each worker that is about to spin for ever. */
  readonly spinning: Int32Array;
}

/** The number of workers that `spinning` has room for. */
export const MAX_WORKERS = 256;

/**
 * Creates a pool. A turn passes once every worker has started and answered its pings, or spins: only workers
 * that spin are silent for several turns, however busy the machine is.
 */
export function createSteppedPool({ spinning, spawn, ...options }: SteppedPoolOptions): SteppedPool {
  /** Pings without an answer, by worker; a thread that starts owes its first message. */
  const owed = new Map<number, number>();
  const every = vi.spyOn(globalThis, "setInterval");
  const pool = createPool({
    ...options,
    spawn(start): WorkerThread {
      const { id } = start;
      const worker = spawn(start);
      owed.set(id, 1);
      worker.on("message", ({ kind }: FromWorker) => {
        if (kind === "ready" || kind === "pong") owed.set(id, (owed.get(id) ?? 0) - 1);
      });
      worker.once("exit", () => void owed.delete(id));
      const postMessage = worker.postMessage.bind(worker);
      worker.postMessage = (message: ToWorker) => {
        if (message.kind === "ping" && owed.has(id)) owed.set(id, (owed.get(id) ?? 0) + 1);
        postMessage(message);
      };
      return worker;
    },
  });
  const [turn] = every.mock.calls[0] ?? [];
  const interval = every.mock.results[0]?.value as NodeJS.Timeout;
  every.mockRestore();
  clearInterval(interval);
  const isAnswered = ([id, pings]: readonly [number, number]): boolean =>
    pings === 0 || Atomics.load(spinning, id) === 1;
  const timer = setInterval(() => {
    if ([...owed].every(isAnswered)) turn?.();
  }, 10);
  return { pool, stop: () => clearInterval(timer) };
}
