import type { Reason } from "#core/reason.ts";
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
