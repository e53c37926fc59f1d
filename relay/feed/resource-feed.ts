import { followedPath, type ObjectName, type Resource } from "#core/resources/resource.ts";
import type { LimitInForce, LimitName } from "#kube/client/limit-name.ts";
import type { Transport } from "#kube/client/transport.ts";
import { DEFAULT_BOUNDS, type FollowBounds } from "#kube/follow/bounds.ts";
import type { Clock } from "#kube/follow/clock.ts";
import type { ObjectKey } from "#kube/follow/object-key.ts";
import type { Pace } from "#kube/follow/pace.ts";
import { type WatchNote, watchResource } from "#kube/follow/watch.ts";
import { createReader, type ReadResult } from "#relay/feed/read-object.ts";
import { refreshForever } from "#relay/feed/refresh.ts";

/** An object as the API server sends it. */
export type RawObject = Readonly<Record<string, unknown>>;

/** Somebody who is told of all objects of a resource; calls come one after another, and must not throw. */
export interface FeedSubscriber<T = unknown> {
  /** Cuts an object down to what is of use, at the door; the object itself is not kept. */
  read(object: RawObject): T;
  /** `isLive` where an open watch tells: it has just happened. */
  applied(read: T, key: ObjectKey, isLive: boolean): void;
  deleted(key: ObjectKey): void;
  /** Versions seen so far compare with nothing that follows. */
  restarted(): void;
  /** Every object there is has been told. */
  listed?(): void;
  /** An object as it is now, which was asked for by name. */
  named?(object: RawObject, key: ObjectKey): void;
  /** Takes part in the passes over all objects. */
  readonly looks?: {
    /** Seconds between two passes, where it is not `refreshSeconds`. */
    readonly everySeconds?: number | undefined;
    look(object: RawObject, key: ObjectKey): void;
    /** Looks that wait to be sent; the next page is not read before most of them are. */
    outstanding(): number;
  };
}

export interface ResourceFeedOptions {
  readonly resource: Resource;
  /** The one object of it that is followed; all are without it. */
  readonly only?: ObjectName | undefined;
  readonly subscribers: readonly FeedSubscriber[];
  readonly transport: Transport;
  readonly clock: Clock;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  readonly refreshSeconds: number;
  /** What the resource may bring; the defaults without it. */
  readonly bounds?: FollowBounds;
  /** Of all feeds of the cluster. */
  readonly pace?: Pace;
  readonly signal: AbortSignal;
  readonly note: (note: FeedNote) => void;
  /** Called before each object is looked at. */
  readonly onObject?: (() => void) | undefined;
}

/** What a feed has to tell of itself. */
export type FeedNote =
  | { readonly kind: "watch"; readonly note: WatchNote }
  /** An object that was asked for by name was read, or was not. */
  | ({ readonly kind: "read"; readonly failure: Failure | undefined } & ObjectName)
  /** A pass over all objects. */
  | { readonly kind: "refreshed"; readonly objects: number; readonly durationMs: number };

interface Failure {
  readonly code: string;
  readonly message: string;
}

/** One resource of one cluster: listed and watched once, however many there are who want to know. */
export interface ResourceFeed {
  readonly resource: Resource;
  /** A complete list is there and the watch is open, or being resumed without an error. */
  isReady(): boolean;
  /** When the API server was last heard of it, by the watch or a whole list; undefined before the first list is there. */
  heardMs(): number | undefined;
  /** Whether the connection was lost, and nothing was heard since. */
  isLost(): boolean;
  /** Why it is not ready, where something failed. */
  failure(): Failure | undefined;
  /** The limits that are in force now, each once. */
  limited(): readonly LimitInForce[];
  /** Reads named objects, and tells the subscribers. */
  read(objects: readonly ObjectName[]): void;
  /** Resolves when the signal has fired and everything has ended. */
  readonly ended: Promise<unknown>;
}

/** Starts to follow a resource. */
export function startResourceFeed(options: ResourceFeedOptions): ResourceFeed {
  const { resource, subscribers, transport, clock, random, signal, note, bounds = DEFAULT_BOUNDS } = options;
  const path = followedPath(resource, options.only);
  const looks = subscribers.map((each) => each.looks).filter((each) => each !== undefined);
  let listed = false;
  let opened = false;
  let failure: Failure | undefined;
  let heardMs = 0;
  let isLost = false;

  function heard(): void {
    heardMs = clock.now();
    isLost = false;
  }
  const limits = new Map<LimitName, LimitInForce>();

  const reader = createReader({ transport, resource, bounds, signal, onRead });

  function onRead(name: ObjectName, result: ReadResult): void {
    note({ kind: "read", ...name, failure: result.kind === "failed" ? result : undefined });
    if (result.kind !== "object") return;
    for (const subscriber of subscribers) subscriber.named?.(result.object, result.key);
  }

  function onWatchNote(watch: WatchNote): void {
    switch (watch.kind) {
      case "listed":
        listed = true;
        heard();
        for (const subscriber of subscribers) subscriber.listed?.();
        break;
      case "opened":
        opened = true;
        failure = undefined;
        break;
      case "failed":
        opened = false;
        failure = { code: watch.code, message: watch.message };
        break;
      case "limited":
        limits.set(watch.limit, watch);
        break;
      case "within-limits":
        for (const limit of watch.limits) limits.delete(limit);
        break;
      case "ended":
      case "malformed":
        break;
    }
    note({ kind: "watch", note: watch });
  }

  const following = watchResource<readonly unknown[]>({
    transport,
    path,
    project(object) {
      options.onObject?.();
      return subscribers.map((subscriber) => subscriber.read(object));
    },
    clock,
    random,
    signal,
    onHeard: heard,
    onLost() {
      isLost = true;
    },
    bounds,
    ...(options.pace === undefined ? {} : { pace: options.pace }),
    handler: {
      applied(reads, key) {
        for (let index = 0; index < subscribers.length; index += 1)
          subscribers[index]?.applied(reads[index], key, opened);
      },
      deleted(key) {
        for (const subscriber of subscribers) subscriber.deleted(key);
      },
      restarted() {
        for (const subscriber of subscribers) subscriber.restarted();
      },
      note: onWatchNote,
    },
  });

  // Those with a period of their own have passes of their own.
  const byPeriod = Map.groupBy(looks, ({ everySeconds = options.refreshSeconds }) => everySeconds);
  const refreshing = [...byPeriod].map(([everySeconds, together]) =>
    refreshForever({
      transport,
      path,
      bounds,
      clock,
      random,
      everySeconds,
      signal,
      outstanding: () => Math.max(...together.map((each) => each.outstanding())),
      look(object, key) {
        for (const each of together) each.look(object, key);
      },
      note,
    }),
  );

  return {
    resource,
    isReady: () => listed && opened && !signal.aborted,
    heardMs: () => (listed ? heardMs : undefined),
    isLost: () => isLost,
    failure: () => failure,
    limited: () => [...limits.values()].map(({ limit, message }) => ({ limit, message })),
    read: (objects) => reader.add(objects),
    ended: Promise.all([following, ...refreshing]),
  };
}
