import type { CloudRequest, OnCloudRequest } from "#clouds/cloud.ts";
import type { CloudUsage } from "#core/report.ts";

/** Counts what one batch asks of a cloud. */
export interface Meter {
  called(operation: string): void;
  throttled(): void;
  waited(ms: number): void;
  /** Of a request that was called. */
  ended(request: CloudRequest): void;
}

/** A meter at zero, and what it shows; `onRequest` is told of each request. */
export function createMeter(onRequest?: OnCloudRequest): Meter & { usage(): CloudUsage } {
  const calls: Record<string, number> = {};
  let throttled = 0;
  let waitedMs = 0;
  return {
    called(operation) {
      calls[operation] = (calls[operation] ?? 0) + 1;
    },
    throttled() {
      throttled += 1;
    },
    waited(ms) {
      waitedMs += ms;
    },
    ended: (request) => onRequest?.(request),
    usage: () => ({ calls: { ...calls }, throttled, waitedMs }),
  };
}

/** The meter of those who wait for the same: each request is counted once, for the first of those who wait at that time. */
export function meterOfFirst(waiting: ReadonlySet<Meter>): Meter {
  const first = (): Meter | undefined => waiting.values().next().value;
  return {
    called: (operation) => first()?.called(operation),
    throttled: () => first()?.throttled(),
    waited: (ms) => first()?.waited(ms),
    ended: (request) => first()?.ended(request),
  };
}
