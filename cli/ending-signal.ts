/** What ends a command that watches: SIGINT, SIGTERM, or its time being over. */
export interface EndingSignal {
  readonly signal: AbortSignal;
  /** Whether it was the system's signal that ended it. */
  isBySignal(): boolean;
  /** Ends it now. */
  end(): void;
  /** Listens no more. */
  stop(): void;
}

/** Listens from now on; the first signal ends the command in good order, and a second one as the system would. */
export function endingSignal(afterMs: number | undefined): EndingSignal {
  const ending = new AbortController();
  let isBySignal = false;
  const end = (): void => {
    ending.abort();
    stop();
  };
  const onSignal = (): void => {
    isBySignal = true;
    end();
  };
  const timer = afterMs === undefined ? undefined : setTimeout(end, afterMs);
  for (const name of SIGNALS) process.once(name, onSignal);
  function stop(): void {
    clearTimeout(timer);
    for (const name of SIGNALS) process.off(name, onSignal);
  }
  return { signal: ending.signal, isBySignal: () => isBySignal, end, stop };
}

const SIGNALS = ["SIGINT", "SIGTERM"] as const;
