import type { WaitLimit } from "#kube/client/semaphore.ts";

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
