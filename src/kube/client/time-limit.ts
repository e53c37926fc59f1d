import type { WaitLimit } from "#kube/client/semaphore.ts";

/** The end of one piece of work: outer signals or its own timeout, whichever comes first. */
export interface TimeLimit extends WaitLimit {
  /** Whether the timeout was reached. */
  timedOut(): boolean;
  /**
   * The limit as a signal, created on first use: requests in a burst need none, and signals are expensive.
   */
  readonly signal: AbortSignal;
  /** Frees timer and listeners; call it after the work, however it ended. */
  end(): void;
}

/** Starts a time limit of `timeoutMs`; the timer does not keep the process alive. */
export function startTimeLimit(timeoutMs: number, ...outer: (AbortSignal | undefined)[]): TimeLimit {
  const listeners = new Set<() => void>();
  let controller: AbortController | undefined;
  let reached = false;
  let timedOut = false;
  const reach = (): void => {
    if (reached) return;
    reached = true;
    controller?.abort();
    for (const listener of listeners) listener();
    listeners.clear();
  };
  const timer = setTimeout(() => {
    timedOut = !reached;
    reach();
  }, timeoutMs).unref();
  const releases = outer.map((signal) => (signal === undefined ? undefined : listenForAbort(signal, reach)));
  return {
    reached: () => reached,
    timedOut: () => timedOut,
    onReached(listener) {
      if (reached) {
        listener();
        return () => {};
      }
      const own = (): void => listener();
      listeners.add(own);
      return () => {
        listeners.delete(own);
      };
    },
    get signal() {
      controller ??= new AbortController();
      if (reached) controller.abort();
      return controller.signal;
    },
    end() {
      clearTimeout(timer);
      for (const release of releases) release?.();
    },
  };
}

/**
 * Calls `listener` once when the signal is aborted, or at once if it already is; returns a function that
 * removes it. A signal may have thousands of listeners, and Node walks its list; so this registers only one
 * for all.
 */
export function listenForAbort(signal: AbortSignal, listener: () => void): () => void {
  if (signal.aborted) {
    listener();
    return doNothing;
  }
  const listeners = getListeners(signal);
  // The same function may be registered twice.
  const entry = { listener };
  listeners.add(entry);
  return () => {
    listeners.delete(entry);
  };
}

/** Creates a wait limit that a signal ends. */
export function createAbortPatience(signal: AbortSignal): WaitLimit {
  return { reached: () => signal.aborted, onReached: (listener) => listenForAbort(signal, listener) };
}

interface Entry {
  readonly listener: () => void;
}

const entriesBySignal = new WeakMap<AbortSignal, Set<Entry>>();

function getListeners(signal: AbortSignal): Set<Entry> {
  const before = entriesBySignal.get(signal);
  if (before !== undefined) return before;
  const listeners = new Set<Entry>();
  entriesBySignal.set(signal, listeners);
  signal.addEventListener(
    "abort",
    () => {
      for (const { listener } of listeners) listener();
      listeners.clear();
    },
    { once: true },
  );
  return listeners;
}

function doNothing(): void {}
