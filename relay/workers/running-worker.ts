import { handledIn, handlingBuffer } from "#relay/workers/handling.ts";
import type { FromWorker, ToWorker, WorkerStart } from "#relay/workers/messages.ts";

/** A thread as it is started; Node's `Worker` is one. */
export interface WorkerThread {
  postMessage(message: ToWorker): void;
  on(event: "message", listener: (message: FromWorker) => void): unknown;
  on(event: "error", listener: (error: unknown) => void): unknown;
  on(event: "exit", listener: (code: number) => void): unknown;
  terminate(): Promise<unknown>;
}

/** Starts a worker's thread. */
export type Spawn = (start: WorkerStart) => WorkerThread;

/** Why a worker has ended that was not told to. */
export type DeathReason = "unresponsive" | "memory" | "error" | "exit" | "start";

/** How a worker died. */
export interface Death {
  readonly reason: DeathReason;
  readonly message: string;
  /** The index of the cluster whose data it was handling, where that is known. */
  readonly handled: number | undefined;
}

export interface RunningWorkerOptions {
  readonly id: number;
  readonly spawn: Spawn;
  readonly onMessage: (message: FromWorker) => void;
  /** Called once, at its death; not where it ended because it was told to. */
  readonly onDeath: (death: Death) => void;
}

/** One worker, as the main thread sees it. */
export interface RunningWorker {
  readonly id: number;
  readonly isReady: () => boolean;
  send(message: ToWorker): void;
  /** Once a second: asks whether it is there, and ends it where it has not been for too long. */
  turn(): void;
  /** Tells it to end, and ends it where it does not in a second. Resolves when it has, or cannot be ended. */
  end(): Promise<void>;
}

/**
 * Turns of the main thread, a second each, in which nothing was heard of a worker until it counts as dead. Turns rather than time: a
 * process that was stopped as a whole, or a machine that slept, has not been silent.
 */
const SILENT_TURNS = 5;

/** As many until it has begun its work; reading the program takes a while on a machine that is busy. */
const STARTING_TURNS = 30;

/** Turns in which a thread that was ended may still be there, in native code that cannot be interrupted; it is left alone then. */
const ENDING_TURNS = 5;

const CLOSE_TIMEOUT_MS = 1_000;

/** Starts a worker and watches over it. */
export function startRunningWorker({ id, spawn, onMessage, onDeath }: RunningWorkerOptions): RunningWorker {
  const handling = handlingBuffer();
  const thread = spawn({ id, handling });
  let isReady = false;
  let silentTurns = 0;
  /** Turns since it was ended for its silence. */
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
      handled: isReady ? handledIn(handling) : undefined,
    });
  }

  thread.on("message", (message) => {
    if (isOver) return;
    silentTurns = 0;
    if (message.kind === "ready") isReady = true;
    onMessage(message);
  });
  thread.on("error", (error) => {
    death ??= { reason: isOutOfMemory(error) ? "memory" : "error", message: wordsOf(error) };
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

function wordsOf(error: unknown): string {
  return (error instanceof Error ? (error.stack ?? error.message) : String(error)).slice(0, MAX_WORDS);
}
