import { ABANDONED, type Invocation } from "#delivery/invoker.ts";

/** What is known of one controller's invocations, as far as a relay vouches for them. */
export interface Deliveries {
  ended(invocation: Invocation): void;
  /** Why what needs work may not reach the function, in words without anything of the cluster's; undefined where it does. */
  undelivered(pending: PendingWork, nowMs: number): string | undefined;
}

/** What of a controller's objects there is to be delivered. */
export interface PendingWork {
  /** There are objects that will be sent sooner or later: they need work, or are looked at now and then. */
  readonly willSend: boolean;
  /** Since when the first of those waits that could be sent; undefined where none does. */
  readonly waitingSinceMs: number | undefined;
}

/** Batches close after milliseconds; what waits for so long waits for a platform, an account or a slot. */
const LONGEST_WAIT_MS = 60_000;

/** Nothing was invoked yet. */
export function createDeliveries(): Deliveries {
  let failure: string | undefined;
  return {
    ended(invocation) {
      if (invocation.kind === "report") failure = undefined;
      else if (invocation.code !== ABANDONED) failure = invocation.code;
    },
    undelivered({ willSend, waitingSinceMs }, nowMs) {
      // Of what is gone meanwhile nobody has to hear.
      if (failure !== undefined && willSend) return `its last invocation ended without a report (${failure})`;
      const waitedMs = waitingSinceMs === undefined ? 0 : nowMs - waitingSinceMs;
      if (waitedMs > LONGEST_WAIT_MS)
        return `objects have waited ${Math.round(waitedMs / 1_000)} s to be sent`;
      return undefined;
    },
  };
}
