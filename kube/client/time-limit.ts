import { onAbort } from "#kube/client/on-abort.ts";
import type { Patience } from "#kube/client/slots.ts";

/** The end of one piece of work: outer signals or its own time, whichever comes first. */
export interface TimeLimit extends Patience {
  /** Whether it was the time. */
  timedOut(): boolean;
  /** The same as a signal, made when it is first asked for: a request in a burst never needs one, and they are dear. */
  readonly signal: AbortSignal;
  /** Frees timer and listeners; to be called however the work ended. */
  end(): void;
}

/** Starts a time limit of `timeoutMs`; the timer keeps no process alive. */
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
  const releases = outer.map((signal) => (signal === undefined ? undefined : onAbort(signal, reach)));
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
