import { ABANDONED, type Invocation } from "#delivery/invoker.ts";

/** Whether one controller's objects reach its function, for the heartbeat. */
export interface DeliveryHealth {
  /** Records the result of an invocation. */
  recordEnd(invocation: Invocation): void;
  /**
   * Returns why objects that need work may not reach the function; undefined if they do. Tenants write
   * the objects in the cluster, so the text contains nothing from there.
   */
  explainUndelivered(pending: PendingWork, nowMs: number): string | undefined;
}

/** A controller's objects that wait for delivery. */
export interface PendingWork {
  /** Whether an object will be sent, because it needs work or because objects are resynced. */
  readonly willSend: boolean;
  /** Since when the oldest object that is due and not yet sent has waited; undefined if no object waits. */
  readonly waitingSinceMs: number | undefined;
}

/**
 * Maximum wait of a due object. Batches close within milliseconds, so an object that waits longer is held back
 * by the platform, the account's limit or a missing permit.
 */
const MAX_WAIT_MS = 60_000;

/** Creates the health of a controller that has not invoked its function yet. */
export function createDeliveryHealth(): DeliveryHealth {
  let failureCode: string | undefined;
  return {
    recordEnd(invocation) {
      if (invocation.kind === "report") failureCode = undefined;
      // The relay itself abandoned such an invocation: its end says nothing about the function.
      else if (invocation.code !== ABANDONED) failureCode = invocation.code;
    },
    explainUndelivered({ willSend, waitingSinceMs }, nowMs) {
      // A failure counts only while objects will be sent: otherwise no later invocation could clear it.
      if (failureCode !== undefined && willSend)
        return `its last invocation ended without a report (${failureCode})`;
      const waitedMs = waitingSinceMs === undefined ? 0 : nowMs - waitingSinceMs;
      if (waitedMs > MAX_WAIT_MS) return `objects have waited ${Math.round(waitedMs / 1_000)} s to be sent`;
      return undefined;
    },
  };
}
