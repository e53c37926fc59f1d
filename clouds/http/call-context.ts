import type { Meter } from "#clouds/http/meter.ts";

/** The context of requests: the abort signal and the meter. */
export interface CallContext {
  readonly signal: AbortSignal;
  readonly meter: Meter;
}
