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
  let current: SharedRequest<Value> | undefined;

  const begin = (start: (signal: AbortSignal) => Promise<Value>): SharedRequest<Value> => {
    const controller = new AbortController();
    const request: SharedRequest<Value> = { answer: start(controller.signal), controller, waiting: 0 };
    current = request;
    return request;
  };

  return {
    async join(start, signal) {
      if (signal.aborted) return undefined;
      const request = current ?? begin(start);
      request.waiting += 1;
      const departure = Promise.withResolvers<undefined>();
      const leave = (): void => departure.resolve(undefined);
      signal.addEventListener("abort", leave, { once: true });
      try {
        return await Promise.race([request.answer.finally(() => end(request)), departure.promise]);
      } finally {
        signal.removeEventListener("abort", leave);
        request.waiting -= 1;
        if (request.waiting === 0) {
          request.controller.abort();
          end(request);
        }
      }
    },
  };

  function end(request: SharedRequest<Value>): void {
    if (current === request) current = undefined;
  }
}

interface SharedRequest<Value> {
  readonly answer: Promise<Value>;
  readonly controller: AbortController;
  waiting: number;
}
