import type { CloudUsage } from "#core/report.ts";

/** Counts what one batch asks of a cloud. */
export interface Meter {
  called(operation: string): void;
  throttled(): void;
  waited(ms: number): void;
}

/** A meter at zero, and what it shows. */
export function createMeter(): Meter & { usage(): CloudUsage } {
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
    usage: () => ({ calls: { ...calls }, throttled, waitedMs }),
  };
}
