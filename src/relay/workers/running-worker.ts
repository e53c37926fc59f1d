import { createHandlingBuffer, readHandled } from "#relay/workers/handling.ts";
import type { FromWorker, ToWorker, WorkerStart } from "#relay/workers/messages.ts";

/** A started thread; Node's `Worker` implements it. */
export interface WorkerThread {
  postMessage(message: ToWorker): void;
  on(event: "message", listener: (message: FromWorker) => void): unknown;
  on(event: "error", listener: (error: unknown) => void): unknown;
  on(event: "exit", listener: (code: number) => void): unknown;
  terminate(): Promise<unknown>;
}

/** Starts a worker's thread. */
export type Spawn = (start: WorkerStart) => WorkerThread;

/** Why a worker ended unexpectedly. */
export type DeathReason = "unresponsive" | "memory" | "error" | "exit" | "start";

/** How a worker died. */
export interface Death {
  readonly reason: DeathReason;
  readonly message: string;
  /** The index of the cluster whose data it was handling, if known. */
  readonly handled: number | undefined;
}

export interface RunningWorkerOptions {
  readonly id: number;
  readonly spawn: Spawn;
  readonly onMessage: (message: FromWorker) => void;
  /** Called once when it dies; not if it ended on request. */
  readonly onDeath: (death: Death) => void;
}

/** One worker, as the main thread sees it. */
export interface RunningWorker {
  readonly id: number;
  readonly isReady: () => boolean;
  send(message: ToWorker): void;
  /** Called once a second: pings the worker, and ends it if it has been silent for too long. */
  turn(): void;
  /**
   * Asks the worker to end, and terminates it after a second. Resolves when it has ended or cannot be ended.
   */
  end(): Promise<void>;
}

/**
 * A worker counts as dead after this many silent turns of the main thread, one second each. Turns do not pass
 * while the whole process is stopped or the machine sleeps.
 */
const SILENT_TURNS = 5;

/**
 * The silent turns allowed before the start is complete; reading the program takes a while on a busy machine.
 */
const STARTING_TURNS = 30;

/**
 * The turns that a terminated thread may take, because native code cannot be interrupted; then it is left
 * alone.
 */
const ENDING_TURNS = 5;

const CLOSE_TIMEOUT_MS = 1_000;

/** Starts a worker and monitors it. */
export function startRunningWorker({ id, spawn, onMessage, onDeath }: RunningWorkerOptions): RunningWorker {
  const handling = createHandlingBuffer();
  const thread = spawn({ id, handling });
  let isReady = false;
  let silentTurns = 0;
  /** Turns since it was terminated for its silence. */
  let endingTurns: number | undefined;
  let death: Omit<Death, "handled"> | undefined;
  let isTold = false;
  let isOver = false;
  let exited = (): void => {};
  const exit = new Promise<void>((resolve) => {
    exited = resolve;
  });

  function over(): void {
    if (isOver) return;
    isOver = true;
    exited();
    if (isTold) return;
    const how = death ?? { reason: "exit", message: "it ended by itself" };
    onDeath({
      ...how,
      reason: isReady ? how.reason : "start",
      handled: isReady ? readHandled(handling) : undefined,
    });
  }

  thread.on("message", (message) => {
    if (isOver) return;
    silentTurns = 0;
    if (message.kind === "ready") isReady = true;
    onMessage(message);
  });
  thread.on("error", (error) => {
    death ??= { reason: isOutOfMemory(error) ? "memory" : "error", message: formatError(error) };
  });
  thread.on("exit", over);

  return {
    id,
    isReady: () => isReady,
    send(message) {
      if (!isOver) thread.postMessage(message);
    },
    turn() {
      if (isOver || isTold) return;
      if (endingTurns !== undefined) {
        endingTurns += 1;
        if (endingTurns >= ENDING_TURNS) over();
        return;
      }
      const limit = isReady ? SILENT_TURNS : STARTING_TURNS;
      if (silentTurns >= limit) {
        endingTurns = 0;
        death ??= { reason: "unresponsive", message: `nothing was heard of it for ${limit} s` };
        void thread.terminate();
        return;
      }
      silentTurns += 1;
      thread.postMessage({ kind: "ping" });
    },
    async end() {
      isTold = true;
      if (isOver) return;
      thread.postMessage({ kind: "close" });
      const timers = [
        setTimeout(() => void thread.terminate(), CLOSE_TIMEOUT_MS),
        setTimeout(exited, 2 * CLOSE_TIMEOUT_MS),
      ];
      await exit;
      for (const timer of timers) clearTimeout(timer);
    },
  };
}

function isOutOfMemory(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ERR_WORKER_OUT_OF_MEMORY";
}

const MAX_WORDS = 500;

function formatError(error: unknown): string {
  return (error instanceof Error ? (error.stack ?? error.message) : String(error)).slice(0, MAX_WORDS);
}
