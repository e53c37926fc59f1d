import { listenForAbort } from "#kube/client/on-abort.ts";
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
