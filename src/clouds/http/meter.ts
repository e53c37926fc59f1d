import type { CloudRequest, OnCloudRequest } from "#clouds/cloud.ts";
import { createSingleFlight, type SingleFlight } from "#clouds/http/single-flight.ts";
import type { CloudUsage } from "#core/report.ts";

/** Counts the requests of one batch to a cloud. */
export interface Meter {
  called(operation: string): void;
  throttled(): void;
  waited(ms: number): void;
  /** Records a finished request. */
  ended(request: CloudRequest): void;
}

/** Creates a meter at zero with its usage; `onRequest` is called for each request. */
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

/** Creates a single flight whose requests count once, for the first caller waiting at that time. */
export function createMeteredFlight<Value>(
  start: (callContext: CallContext) => Promise<Value>,
  now?: () => number,
): SingleFlight<CallContext, Value> {
  return createSingleFlight<CallContext, Value>(
    (_first, { signal, getFirst }) => start({ signal, meter: createSharedMeter(() => getFirst()?.meter) }),
    now,
  );
}

function createSharedMeter(first: () => Meter | undefined): Meter {
  return {
    called: (operation) => first()?.called(operation),
    throttled: () => first()?.throttled(),
    waited: (ms) => first()?.waited(ms),
    ended: (request) => first()?.ended(request),
  };
}

/** The context of requests: the abort signal and the meter. */
export interface CallContext {
  readonly signal: AbortSignal;
  readonly meter: Meter;
}
