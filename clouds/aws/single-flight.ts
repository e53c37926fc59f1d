/** One request at a time, shared by all callers; it runs while any of them waits. */
export interface SingleFlight<Value> {
  /**
   * Returns the answer of the running request, or of a new one from `start`; undefined once `signal` aborts.
   * The signal passed to `start` aborts when the last waiting caller has left. `start` must not reject.
   */
  join(start: (signal: AbortSignal) => Promise<Value>, signal: AbortSignal): Promise<Value | undefined>;
}

/** Creates it with no request running. Answers are never cached: the next caller starts a new request. */
export function createSingleFlight<Value>(): SingleFlight<Value> {
  let current: Flight<Value> | undefined;

  const begin = (start: (signal: AbortSignal) => Promise<Value>): Flight<Value> => {
    const controller = new AbortController();
    const invocation: Flight<Value> = { answer: start(controller.signal), controller, waiting: 0 };
    current = invocation;
    return invocation;
  };

  return {
    async join(start, signal) {
      if (signal.aborted) return undefined;
      const invocation = current ?? begin(start);
      invocation.waiting += 1;
      const left = Promise.withResolvers<undefined>();
      const leave = (): void => left.resolve(undefined);
      signal.addEventListener("abort", leave, { once: true });
      try {
        return await Promise.race([invocation.answer.finally(() => end(invocation)), left.promise]);
      } finally {
        signal.removeEventListener("abort", leave);
        invocation.waiting -= 1;
        if (invocation.waiting === 0) {
          invocation.controller.abort();
          end(invocation);
        }
      }
    },
  };

  function end(invocation: Flight<Value>): void {
    if (current === invocation) current = undefined;
  }
}

interface Flight<Value> {
  readonly answer: Promise<Value>;
  readonly controller: AbortController;
  waiting: number;
}
