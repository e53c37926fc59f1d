import { createHandledClusterBuffer, readHandledCluster } from "#relay/workers/handled-cluster.ts";
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

/**
 * Why a worker ended unexpectedly: `start` if it died before it was ready, whatever the cause; `exit` if the thread
 * ended by itself.
 */
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
  /** Pings the worker, and ends it if it has been silent for too long. The pool calls it once a second. */
  checkLiveness(): void;
  /**
   * Asks the worker to end, and terminates it after a second. Resolves when it has ended or cannot be ended.
   */
  end(): Promise<void>;
}

/**
 * A worker counts as dead after this many checks of its liveness without a message, one check a second. Checks are
 * counted instead of seconds, because the clock goes on while the process is stopped or the machine sleeps.
 */
const MAX_SILENT_CHECKS = 5;

/**
 * The silent checks allowed before the start is complete; reading the program takes a while on a busy machine.
 */
const MAX_SILENT_CHECKS_AT_START = 30;

/**
 * After this many checks a thread that was terminated for its silence, and still runs, is abandoned: native code cannot
 * be interrupted.
 */
const MAX_CHECKS_AFTER_TERMINATION = 5;

const CLOSE_TIMEOUT_MS = 1_000;

/** Starts a worker and monitors it. */
export function startRunningWorker({ id, spawn, onMessage, onDeath }: RunningWorkerOptions): RunningWorker {
  const handledCluster = createHandledClusterBuffer();
  const thread = spawn({ id, handledCluster });
  let isReady = false;
  let silentChecks = 0;
  let checksAfterTermination: number | undefined;
  let death: Omit<Death, "handled"> | undefined;
  let isEndRequested = false;
  let isOver = false;
  const { promise: ended, resolve: resolveEnd } = Promise.withResolvers<void>();

  function finish(): void {
    if (isOver) return;
    isOver = true;
    resolveEnd();
    if (isEndRequested) return;
    const cause = death ?? { reason: "exit", message: "it ended by itself" };
    onDeath({
      ...cause,
      reason: isReady ? cause.reason : "start",
      handled: isReady ? readHandledCluster(handledCluster) : undefined,
    });
  }

  thread.on("message", (message) => {
    if (isOver) return;
    silentChecks = 0;
    if (message.kind === "ready") isReady = true;
    onMessage(message);
  });
  thread.on("error", (error) => {
    death ??= { reason: isOutOfMemory(error) ? "memory" : "error", message: formatError(error) };
  });
  thread.on("exit", finish);

  return {
    id,
    isReady: () => isReady,
    send(message) {
      if (!isOver) thread.postMessage(message);
    },
    checkLiveness() {
      if (isOver || isEndRequested) return;
      if (checksAfterTermination !== undefined) {
        checksAfterTermination += 1;
        if (checksAfterTermination >= MAX_CHECKS_AFTER_TERMINATION) finish();
        return;
      }
      const limit = isReady ? MAX_SILENT_CHECKS : MAX_SILENT_CHECKS_AT_START;
      if (silentChecks >= limit) {
        checksAfterTermination = 0;
        death ??= { reason: "unresponsive", message: `nothing was heard of it for ${limit} s` };
        void thread.terminate();
        return;
      }
      silentChecks += 1;
      thread.postMessage({ kind: "ping" });
    },
    async end() {
      isEndRequested = true;
      if (isOver) return;
      thread.postMessage({ kind: "close" });
      const timers = [
        setTimeout(() => void thread.terminate(), CLOSE_TIMEOUT_MS),
        setTimeout(resolveEnd, 2 * CLOSE_TIMEOUT_MS),
      ];
      await ended;
      for (const timer of timers) clearTimeout(timer);
    },
  };
}

function isOutOfMemory(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ERR_WORKER_OUT_OF_MEMORY";
}

const MAX_CHARACTERS = 500;

function formatError(error: unknown): string {
  return (error instanceof Error ? (error.stack ?? error.message) : String(error)).slice(0, MAX_CHARACTERS);
}
