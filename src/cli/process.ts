import { logText } from "#core/log-text.ts";

/** Ends a watching command: SIGINT, SIGTERM, or its time limit. */
export interface EndingSignal {
  readonly signal: AbortSignal;
  /** Returns whether a system signal ended it. */
  isBySignal(): boolean;
  /** Ends it now. */
  end(): void;
  /** Stops listening. */
  stop(): void;
}

/** Starts to listen. The first signal ends the command cleanly, a second one kills it. */
export function createEndingSignal(afterMs: number | undefined): EndingSignal {
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

/** Keeps SIGHUP from ending this process. */
export function outliveHangups(): void {
  process.on("SIGHUP", () => {});
}

/** Calls the listener at each SIGHUP. Returns a function that ends that. */
export function onHangup(listener: () => void): () => void {
  process.on("SIGHUP", listener);
  return () => void process.off("SIGHUP", listener);
}

/**
 * Writes a worker's log line to standard error, which belongs to the main thread and has its log lines as
 * well.
 */
export function logToStandardError(line: Readonly<Record<string, unknown>>): void {
  process.stderr.write(`${logText(line, new Date())}\n`);
}
