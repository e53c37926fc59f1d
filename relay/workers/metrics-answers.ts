import type { Metrics, ToWorker } from "#relay/workers/messages.ts";

/** Requests one worker's metrics across threads. */
export interface MetricsAnswers {
  /** Resolves to the worker's current metrics; to the last known ones if it does not answer in time. */
  ask(): Promise<Metrics>;
  receive(id: number, metrics: Metrics): void;
  /** Called when the worker does not answer any more. */
  close(): void;
}

/** A scrape takes at most ten seconds by default, and a worker that reads a long list is not dead. */
const TIMEOUT_MS = 1_500;

/** Creates the requester; concurrent scrapes share one request. */
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
      // A late answer is still newer than the known values.
      known = metrics;
      if (id === asked) answered();
    },
    close: () => answered(),
  };
}
