import type { Because } from "#core/decision.ts";
import type { Vouching } from "#relay/lease/renew-lease.ts";

/** What is followed of a cluster, as far as it shows life. */
export interface FollowedLife {
  readonly resource: { readonly name: string };
  /** When the API server was last heard of it, by a watch or a whole list; undefined before the first list is there. */
  heardMs(): number | undefined;
  /** Whether the connection was lost, and nothing was heard since: the watch may be of a store that was set back meanwhile. */
  isLost(): boolean;
}

/** What a controller's way to its function last came to. */
export interface Delivering {
  readonly watch: { readonly name: string };
  /** Why what needs work may not reach the function; undefined where it does, or where nothing needs it. */
  undelivered(nowMs: number): string | undefined;
}

/** Bookmarks come about every minute, and a watch that is silent for so long is ended. */
const ALIVE_MS = 90_000;

/** Whether changes in the cluster reach the functions, as far as that can be told from here. */
export function vouchingOf(
  feeds: Iterable<FollowedLife>,
  controllers: Iterable<Delivering>,
  nowMs: number,
): Vouching {
  for (const feed of feeds) {
    const heardMs = feed.heardMs();
    if (heardMs === undefined) return { kind: "too-early" };
    if (feed.isLost())
      return doubts(
        "WatchSilent",
        `the connection was lost, and nothing of ${feed.resource.name} was heard since`,
      );
    const silentMs = nowMs - heardMs;
    if (silentMs > ALIVE_MS)
      return doubts("WatchSilent", `nothing was heard of ${feed.resource.name} for ${seconds(silentMs)} s`);
  }
  for (const controller of controllers) {
    const why = controller.undelivered(nowMs);
    if (why !== undefined) return doubts("NotDelivered", `${controller.watch.name}: ${why}`);
  }
  return { kind: "vouches" };
}

function doubts(code: Because["code"], message: string): Vouching {
  return { kind: "doubts", because: { code, message } };
}

function seconds(milliseconds: number): number {
  return Math.round(milliseconds / 1_000);
}
