import type { Metrics, ToWorker } from "#relay/workers/messages.ts";

/** One worker's metrics, asked for across the threads. */
export interface MetricsAnswers {
  /** Resolves to what it counts now; to the last that is known where it does not answer in time. */
  ask(): Promise<Metrics>;
  receive(id: number, metrics: Metrics): void;
  /** It answers no more. */
  close(): void;
}

/** A scrape has ten seconds by default, and a worker that reads a long list is not dead. */
const TIMEOUT_MS = 1_500;

/** Asks by `send`; scrapes at the same time ask once. */
export function askMetrics(send: (message: ToWorker) => void, timeoutMs = TIMEOUT_MS): MetricsAnswers {
  let known: Metrics = [];
  let asked = 0;
  let asking: Promise<Metrics> | undefined;
  let answered = (): void => {};

  return {
    ask() {
      asking ??= new Promise<Metrics>((resolve) => {
        asked += 1;
        answered = () => {
          clearTimeout(timer);
          asking = undefined;
          resolve(known);
        };
        const timer = setTimeout(answered, timeoutMs);
        send({ kind: "ask-metrics", id: asked });
      });
      return asking;
    },
    receive(id, metrics) {
      // What comes late is still newer than what is known.
      known = metrics;
      if (id === asked) answered();
    },
    close: () => answered(),
  };
}
