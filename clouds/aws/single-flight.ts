/** One request at a time, for all who want its answer; it goes on for as long as anybody waits for it. */
export interface SingleFlight<Value> {
  /**
   * The answer of the request that is under way, or of the one that `start` makes; undefined once `signal` aborts. The
   * signal that `start` gets aborts when the last one who waited has left. Must not reject.
   */
  join(start: (signal: AbortSignal) => Promise<Value>, signal: AbortSignal): Promise<Value | undefined>;
}

/** With nothing under way. An answer is never kept: whoever comes after it starts anew. */
export function createSingleFlight<Value>(): SingleFlight<Value> {
  let current: Flight<Value> | undefined;

  const begin = (start: (signal: AbortSignal) => Promise<Value>): Flight<Value> => {
    const controller = new AbortController();
    const flight: Flight<Value> = { answer: start(controller.signal), controller, waiting: 0 };
    current = flight;
    return flight;
  };

  return {
    async join(start, signal) {
      if (signal.aborted) return undefined;
      const flight = current ?? begin(start);
      flight.waiting += 1;
      const left = Promise.withResolvers<undefined>();
      const leave = (): void => left.resolve(undefined);
      signal.addEventListener("abort", leave, { once: true });
      try {
        return await Promise.race([flight.answer.finally(() => end(flight)), left.promise]);
      } finally {
        signal.removeEventListener("abort", leave);
        flight.waiting -= 1;
        if (flight.waiting === 0) {
          flight.controller.abort();
          end(flight);
        }
      }
    },
  };

  function end(flight: Flight<Value>): void {
    if (current === flight) current = undefined;
  }
}

interface Flight<Value> {
  readonly answer: Promise<Value>;
  readonly controller: AbortController;
  waiting: number;
}
