import type { Patience } from "#kube/client/slots.ts";

/**
 * Calls `listener` once the signal is aborted, at once where it is already; returns what takes the listener back. One signal may have
 * thousands of them: Node keeps the listeners of a signal in a list that it walks, so only one stands there, for all.
 */
export function onAbort(signal: AbortSignal, listener: () => void): () => void {
  if (signal.aborted) {
    listener();
    return nothing;
  }
  const listeners = listenersOf(signal);
  // The same function may listen twice.
  const entry = { listener };
  listeners.add(entry);
  return () => {
    listeners.delete(entry);
  };
}

/** Patience that ends with a signal. */
export function untilAborted(signal: AbortSignal): Patience {
  return { reached: () => signal.aborted, onReached: (listener) => onAbort(signal, listener) };
}

interface Entry {
  readonly listener: () => void;
}

const known = new WeakMap<AbortSignal, Set<Entry>>();

function listenersOf(signal: AbortSignal): Set<Entry> {
  const before = known.get(signal);
  if (before !== undefined) return before;
  const listeners = new Set<Entry>();
  known.set(signal, listeners);
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

function nothing(): void {}
