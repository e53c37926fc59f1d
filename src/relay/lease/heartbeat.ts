import type { Reason } from "#core/reason.ts";
import { ABANDONED, type Invocation } from "#platforms/invoker.ts";
import type { Heartbeat } from "#relay/lease/renew-lease.ts";

/** The liveness of an informer. */
export interface InformerLiveness {
  readonly resource: { readonly name: string };
  /**
   * Returns when a watch or a whole list last delivered something; undefined before the first list is
   * complete.
   */
  heardMs(): number | undefined;
  /**
   * Returns whether the connection was lost and nothing has arrived since: the API server's store may have
   * been reset meanwhile.
   */
  isLost(): boolean;
}

/** A controller's path to its function. */
export interface DeliveringController {
  readonly watch: { readonly name: string };
  /**
   * Returns why objects that need work may not reach the function; undefined if they do or if no object needs
   * work.
   */
  explainUndelivered(nowMs: number): string | undefined;
}

/** Bookmarks come about every minute, and a watch that is silent for this long is ended. */
const ALIVE_MS = 90_000;

/** Decides whether changes in the cluster reach the functions, as far as the relay can see. */
export function decideHeartbeat(
  feeds: Iterable<InformerLiveness>,
  controllers: Iterable<DeliveringController>,
  nowMs: number,
): Heartbeat {
  for (const feed of feeds) {
    const heardMs = feed.heardMs();
    if (heardMs === undefined) return { kind: "too-early" };
    if (feed.isLost())
      return buildDoubt(
        "WatchSilent",
        `the connection was lost, and nothing of ${feed.resource.name} was heard since`,
      );
    const silentMs = nowMs - heardMs;
    if (silentMs > ALIVE_MS)
      return buildDoubt(
        "WatchSilent",
        `nothing was heard of ${feed.resource.name} for ${toSeconds(silentMs)} s`,
      );
  }
  for (const controller of controllers) {
    const why = controller.explainUndelivered(nowMs);
    if (why !== undefined) return buildDoubt("NotDelivered", `${controller.watch.name}: ${why}`);
  }
  return { kind: "vouches" };
}

function buildDoubt(code: Reason["code"], message: string): Heartbeat {
  return { kind: "doubts", because: { code, message } };
}

function toSeconds(milliseconds: number): number {
  return Math.round(milliseconds / 1_000);
}

/** Whether one controller's objects reach its function, for the heartbeat. */
interface DeliveryHealth {
  /** Records the result of an invocation. */
  recordEnd(invocation: Invocation): void;
  /**
   * Returns why objects that need work may not reach the function; undefined if they do. Tenants write
   * the objects in the cluster, so the text contains nothing from there.
   */
  explainUndelivered(pending: PendingWork, nowMs: number): string | undefined;
}

/** A controller's objects that wait for delivery. */
interface PendingWork {
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
