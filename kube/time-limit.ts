/** A signal that fires when one of the outer ones does or when the time is up, whichever comes first. */
export interface TimeLimit {
  readonly signal: AbortSignal;
  /** Whether it was the time. */
  timedOut(): boolean;
  /** Frees timer and listener; to be called however the work ended. */
  end(): void;
}

/** Starts a time limit of `timeoutMs`; the timer keeps no process alive. */
export function startTimeLimit(timeoutMs: number, ...outer: (AbortSignal | undefined)[]): TimeLimit {
  const controller = new AbortController();
  let timedOut = false;
  const onAbort = (): void => controller.abort();
  const timer = setTimeout(() => {
    timedOut = true;
    controller.abort();
  }, timeoutMs).unref();
  for (const signal of outer) {
    if (signal?.aborted) controller.abort();
    else signal?.addEventListener("abort", onAbort, { once: true });
  }
  return {
    signal: controller.signal,
    timedOut: () => timedOut,
    end() {
      clearTimeout(timer);
      for (const signal of outer) signal?.removeEventListener("abort", onAbort);
    },
  };
}
