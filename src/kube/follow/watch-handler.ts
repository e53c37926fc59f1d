import type { LimitName } from "#kube/client/errors.ts";
import type { Transport } from "#kube/client/transport.ts";
import type { FollowBounds, LimitNote } from "#kube/follow/bounds.ts";
import type { Clock } from "#kube/follow/clock.ts";
import type { MalformedNote, ObjectKey } from "#kube/follow/object-key.ts";
import type { ObjectStoreHandler } from "#kube/follow/object-store.ts";
import type { FailureCode } from "#kube/follow/request-failure.ts";
import type { WatchRateLimiter } from "#kube/follow/watch-rate-limiter.ts";
import type { WindowEnd } from "#kube/follow/watch-window.ts";

/** Receives the changes of a watch; calls come one after another, never concurrently, and must not throw. */
export interface WatchHandler<T> extends ObjectStoreHandler<T> {
  /** The current object: new, changed, or listed. Missed deletions come first. */
  applied(object: T, key: ObjectKey): void;
  /** The object is gone; its name may already belong to a new one. */
  deleted(key: ObjectKey): void;
  /**
   * A new history begins (a store restored from a backup): earlier versions cannot be compared with later
   * ones.
   */
  restarted(): void;
  /** Reports the state of the watch itself. */
  note(note: WatchNote): void;
}

/** Why a list was made. */
export type ListCause = "start" | "gone" | "ahead" | "silent" | "rubbish" | "periodic" | "failures";

/** The state of a watch; codes are stable and few. */
export type WatchNote =
  | {
      readonly kind: "listed";
      readonly cause: ListCause;
      /** Number of followed objects. */
      readonly objects: number;
      readonly durationMs: number;
      /** The store is older than what was seen before. */
      readonly restarted: boolean;
    }
  | { readonly kind: "opened" }
  | {
      readonly kind: "ended";
      readonly cause: WindowEnd["kind"];
      readonly events: number;
      readonly durationMs: number;
    }
  /** A list or watch failed; it is retried after `delayMs`. */
  | {
      readonly kind: "failed";
      readonly code: FailureCode;
      readonly message: string;
      readonly delayMs: number;
      /** Set if the code is `ClusterLimited`. */
      readonly limit?: LimitName | undefined;
      /** The server withholds the resource: it does not serve it, or not to us. */
      readonly isWithheld?: true;
    }
  | LimitNote
  | MalformedNote;

/** The dependencies and settings of a watch. */
export interface WatchOptions<T> {
  readonly transport: Transport;
  /** The path of the collection, such as `/api/v1/nodes`, or of one object in it (`formatFollowedPath`). */
  readonly path: string;
  /** Reduces an arriving object to the needed fields; whole objects are not kept. */
  readonly project: (object: Readonly<Record<string, unknown>>) => T;
  readonly handler: WatchHandler<T>;
  readonly clock: Clock;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  readonly signal: AbortSignal;
  readonly bounds?: FollowBounds;
  /** The longest back-off in milliseconds while the server withholds the resource; 30 s by default. */
  readonly maxWithheldMs?: number;
  /** Shared by all watches of the cluster. Default: its own. */
  readonly pace?: WatchRateLimiter;
  /**
   * Called whenever watch data arrive, bookmarks included, and once more when a comparison shows that the
   * watch continues in the same history.
   */
  readonly onHeard?: () => void;
  /**
   * Called when the connection was lost: the server's state is unknown until data arrive or a list succeeds.
   */
  readonly onLost?: () => void;
}
