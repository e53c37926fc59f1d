import type { Reason } from "#core/reason.ts";
import {
  formatCollectionPath,
  formatFollowedPath,
  formatObjectKey,
  type ObjectName,
  type Resource,
} from "#core/resources/resource.ts";
import type { LimitInForce, LimitName } from "#kube/client/errors.ts";
import { createSemaphore } from "#kube/client/semaphore.ts";
import { createAbortPatience } from "#kube/client/time-limit.ts";
import type { Transport } from "#kube/client/transport.ts";
import { DEFAULT_BOUNDS, type FollowBounds } from "#kube/follow/bounds.ts";
import type { Clock } from "#kube/follow/clock.ts";
import { listByName } from "#kube/follow/list.ts";
import { type ObjectKey, parseObjectKey } from "#kube/follow/object-key.ts";
import { watchResource } from "#kube/follow/watch.ts";
import type { WatchNote } from "#kube/follow/watch-handler.ts";
import type { WatchRateLimiter } from "#kube/follow/watch-rate-limiter.ts";
import { refreshForever } from "#relay/informer/refresh.ts";

/** An object as the API server sends it. */
export type RawObject = Readonly<Record<string, unknown>>;

/** A subscriber that sees all objects of a resource. Calls come one after another and must not throw. */
export interface InformerSubscriber<T = unknown> {
  /** Projects an object to the fields in use; the object itself is not kept. */
  read(object: RawObject): T;
  /** Called with each object. `isLive` means that an open watch reported it, so it has just changed. */
  applied(read: T, key: ObjectKey, isLive: boolean): void;
  deleted(key: ObjectKey): void;
  /** Called when earlier resource versions cannot be compared with later ones any more. */
  restarted(): void;
  /** Called when every existing object was reported. */
  listed?(): void;
  /** Called with the current state of an object that was requested by name. */
  named?(object: RawObject, key: ObjectKey): void;
  /** Requests resyncs: regular passes over all objects. */
  readonly resyncs?: {
    /** Seconds between two passes; defaults to `refreshSeconds`. */
    readonly everySeconds?: number | undefined;
    look(object: RawObject, key: ObjectKey): void;
    /**
     * Returns the number of resyncs that wait to be sent. The next page is read when most of them are sent.
     */
    outstanding(): number;
  };
}

export interface InformerOptions {
  readonly resource: Resource;
  /** Follows only this object; all objects without it. */
  readonly only?: ObjectName | undefined;
  /** The cluster may lack the resource, or the right to list it: that is no failure. */
  readonly isOptional?: boolean;
  readonly subscribers: readonly InformerSubscriber[];
  readonly transport: Transport;
  readonly clock: Clock;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  readonly refreshSeconds: number;
  /** Limits on what the resource may contain; defaults without it. */
  readonly bounds?: FollowBounds;
  /** Shared by all informers of the cluster. */
  readonly pace?: WatchRateLimiter;
  readonly signal: AbortSignal;
  readonly note: (note: InformerNote) => void;
  /** Called before each object is processed. */
  readonly onObject?: (() => void) | undefined;
}

/** The notes of an informer. */
export type InformerNote =
  | { readonly kind: "watch"; readonly note: WatchNote }
  /** An object that was requested by name was read, or the read failed. */
  | ({ readonly kind: "read"; readonly failure: Reason | undefined } & ObjectName)
  /** A pass over all objects ended. */
  | { readonly kind: "refreshed"; readonly objects: number; readonly durationMs: number };

/** One resource of one cluster, listed and watched once for all subscribers. */
export interface Informer {
  readonly resource: Resource;
  /** Whether the cluster is ready without it. */
  readonly isOptional: boolean;
  /** Returns whether the list is complete and the watch is open or resuming without an error. */
  isReady(): boolean;
  /**
   * Returns when a watch or a whole list last delivered something; undefined before the first list is
   * complete.
   */
  heardMs(): number | undefined;
  /** Returns whether the connection was lost and nothing has arrived since. */
  isLost(): boolean;
  /** Returns why the informer is not ready; undefined when nothing failed. */
  failure(): Reason | undefined;
  /** Returns the limits in force, each once. */
  limited(): readonly LimitInForce[];
  /** Reads objects by name and reports them to the subscribers. */
  read(objects: readonly ObjectName[]): void;
  /** Resolves after the signal fired and everything has ended. */
  readonly ended: Promise<unknown>;
}

/** The longest time until the relay finds that an optional resource is served now. */
const OPTIONAL_BACK_OFF_MS = 10 * 60_000;

/** Starts to follow a resource. */
export function startInformer(options: InformerOptions): Informer {
  const { resource, subscribers, transport, clock, random, signal, note, bounds = DEFAULT_BOUNDS } = options;
  const { isOptional = false } = options;
  const path = formatFollowedPath(resource, options.only);
  const looks = subscribers.map((each) => each.resyncs).filter((each) => each !== undefined);
  let listed = false;
  let opened = false;
  let failure: Reason | undefined;
  let heardMs = 0;
  let isLost = false;
  const limits = new Map<LimitName, LimitInForce>();

  function heard(): void {
    heardMs = clock.now();
    isLost = false;
  }

  const reader = createObjectReader({ transport, resource, bounds, signal, onRead });

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
    // A cluster without an optional resource is the ordinary case, and stays silent.
    const isAbsent = isOptional && watch.kind === "failed" && watch.isWithheld === true;
    if (!isAbsent) note({ kind: "watch", note: watch });
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
    ...(isOptional ? { maxWithheldMs: OPTIONAL_BACK_OFF_MS } : {}),
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

  // Subscribers with an interval of their own have their own passes.
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
      resync(object, key) {
        for (const each of together) each.look(object, key);
      },
      note,
    }),
  );

  return {
    resource,
    isOptional,
    isReady: () => listed && opened && !signal.aborted,
    heardMs: () => (listed ? heardMs : undefined),
    isLost: () => isLost,
    failure: () => failure,
    limited: () => [...limits.values()].map(({ limit, message }) => ({ limit, message })),
    read: (objects) => reader.add(objects),
    ended: Promise.all([following, ...refreshing]),
  };
}

/** The result of reading one object by name. */
export type ReadResult =
  | { readonly kind: "object"; readonly key: ObjectKey; readonly object: Readonly<Record<string, unknown>> }
  | { readonly kind: "gone" }
  | { readonly kind: "failed"; readonly code: string; readonly message: string };

interface ObjectReaderOptions {
  readonly transport: Transport;
  readonly resource: Resource;
  readonly bounds: FollowBounds;
  readonly signal: AbortSignal;
  readonly onRead: (name: ObjectName, result: ReadResult) => void;
}

/** Reads named objects, a few at a time, each at most once however often it is requested meanwhile. */
export interface ObjectReader {
  add(objects: readonly ObjectName[]): void;
}

const MAX_READS = 4;

/** More than the objects of a cluster. An object that finds no room is requested again when its wait ends. */
const MAX_WAITING = 10_000;

/**
 * Creates a reader that lists with a field selector, so that the relay needs permission only to list and
 * watch.
 */
export function createObjectReader(options: ObjectReaderOptions): ObjectReader {
  const { transport, resource, bounds, signal, onRead } = options;
  const waiting = new Set<string>();
  const permits = createSemaphore(() => MAX_READS, MAX_WAITING);

  async function readInTurn(name: ObjectName): Promise<void> {
    const key = formatObjectKey(name);
    if (waiting.has(key)) return;
    waiting.add(key);
    const entered = await permits.acquire(createAbortPatience(signal));
    waiting.delete(key);
    if (entered !== "entered") return;
    const result = await read(name);
    permits.release();
    if (!signal.aborted) onRead(name, result);
  }

  async function read(name: ObjectName): Promise<ReadResult> {
    const page = await listByName(transport, formatCollectionPath(resource), name, signal, bounds);
    if (page.kind === "failed") return page;
    const object = page.kind === "page" ? page.items[0] : undefined;
    const key = parseObjectKey(object);
    if (key === undefined) return { kind: "gone" };
    return { kind: "object", key, object: object as Readonly<Record<string, unknown>> };
  }

  return {
    add(objects) {
      for (const { namespace, name } of objects)
        void readInTurn(namespace === undefined ? { name } : { namespace, name });
    },
  };
}
