import type { LimitInForce, LimitName } from "#kube/client/limit-name.ts";
import type { Transport } from "#kube/client/transport.ts";
import { type Clock, pause } from "#kube/follow/clock.ts";
import {
  createKnownObjects,
  type KnownObjectsHandler,
  type ListedObject,
} from "#kube/follow/known-objects.ts";
import { listAll } from "#kube/follow/list.ts";
import { keyOf, metadataOf, type ObjectKey } from "#kube/follow/object-key.ts";
import { createPageSize } from "#kube/follow/page-size.ts";
import { type FailureCode, failed, type RequestFailure } from "#kube/follow/request-failure.ts";
import { isOlderVersion } from "#kube/follow/resource-version.ts";
import { SILENCE_MS, type WatchEvent, type WindowEnd, watchWindow } from "#kube/follow/watch-window.ts";

/** What a watch tells; calls come one after another, never at the same time, and must not throw. */
export interface WatchHandler<T> extends KnownObjectsHandler<T> {
  /** The object as it is now: new, changed, or met in a list. Deletions that were missed come before. */
  applied(object: T, key: ObjectKey): void;
  /** The object is gone; the name may belong to another one by now. */
  deleted(key: ObjectKey): void;
  /** A new history begins (a store restored from a backup): versions seen before compare with nothing that follows. */
  restarted(): void;
  /** How the watch itself fares. */
  note(note: WatchNote): void;
}

/** Why a list was made. */
export type ListCause = "start" | "gone" | "ahead" | "silent" | "rubbish" | "periodic" | "failures";

/** How a watch fares; codes are stable and few. */
export type WatchNote =
  | {
      readonly kind: "listed";
      readonly cause: ListCause;
      readonly objects: number;
      readonly durationMs: number;
      /** The store is older than what was seen of it before. */
      readonly restarted: boolean;
    }
  | { readonly kind: "opened" }
  | {
      readonly kind: "ended";
      readonly cause: WindowEnd["kind"];
      readonly events: number;
      readonly durationMs: number;
    }
  /** A list or watch failed; it is tried again after `delayMs`. */
  | {
      readonly kind: "failed";
      readonly code: FailureCode;
      readonly message: string;
      readonly delayMs: number;
      /** Where the code is `ClusterLimited`. */
      readonly limit?: LimitName | undefined;
    }
  /** A limit is in force from now on, or was met again. */
  | ({ readonly kind: "limited" } & LimitInForce)
  /** These are in force no longer. */
  | { readonly kind: "within-limits"; readonly limits: readonly LimitName[] }
  /** Objects without a name, uid or resourceVersion were left out: so many since the last note, of which this is the first. */
  | { readonly kind: "malformed"; readonly objects: number; readonly message: string };

export interface WatchOptions<T> {
  readonly transport: Transport;
  /** Of the collection, such as `/api/v1/nodes`. */
  readonly path: string;
  /** Cuts an object down to what is of use, at the door; objects are not kept. */
  readonly project: (object: Readonly<Record<string, unknown>>) => T;
  readonly handler: WatchHandler<T>;
  readonly clock: Clock;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  readonly signal: AbortSignal;
}

/** Lists come at least this often, whatever the watch says; they start up to one window earlier than the limit. */
const LIST_EVERY_MS = 15 * 60_000;
const LONGEST_WINDOW_MS = 330_000;

const BACK_OFF_BASE_MS = 250;
const BACK_OFF_LIMIT_MS = 30_000;

/** A watch that was open for so long shows that the server is well, even where nothing came. */
const WELL_AFTER_MS = 5_000;

/** After so many failures of the watch in a row the list is asked instead of the watch. */
const FAILURES_UNTIL_LIST = 3;

/**
 * Follows all objects of a resource: a list, then watches that are resumed from the last version seen, and a list again
 * whenever the watch cannot be trusted. Resolves when the signal fires; until then it keeps trying.
 */
export async function watchResource<T>(options: WatchOptions<T>): Promise<void> {
  const { clock, handler, random, signal } = options;
  const known = createKnownObjects(handler);
  const size = createPageSize();
  let version: string | undefined;
  let listDueMs = 0;
  let cause: ListCause = "start";
  let listFailures = 0;
  let watchFailures = 0;

  while (!signal.aborted) {
    if (version === undefined || clock.now() >= listDueMs) {
      if (version !== undefined && cause === "start") cause = "periodic";
      const failure = await list();
      if (failure === undefined) continue;
      listFailures += 1;
      await backOff(failure, listFailures);
      continue;
    }
    await follow(version);
  }

  /** Lists, and tells what differs from what was known. */
  async function list(): Promise<RequestFailure | undefined> {
    const startedAtMs = clock.now();
    const found = await listAll(options.transport, options.path, take, signal, size);
    if (signal.aborted) return undefined;
    if (found.kind === "failed") return found;
    const older = version !== undefined && isOlderVersion(found.resourceVersion, version);
    const { objects, restarted } = known.replace(found.items, older);
    // A server that is back begins anew; one whose watches fail beside it does not, or every list would be followed by the next.
    if (listFailures > 0) watchFailures = 0;
    listFailures = 0;
    version = found.resourceVersion;
    listDueMs = clock.now() + (LIST_EVERY_MS - LONGEST_WINDOW_MS) * (0.75 + 0.25 * random());
    const durationMs = clock.now() - startedAtMs;
    handler.note({ kind: "listed", cause, objects, durationMs, restarted });
    cause = "start";
    return undefined;
  }

  /** One watch request, and what its end means for the next step. */
  async function follow(from: string): Promise<void> {
    const startedAtMs = clock.now();
    let openedAtMs = Number.POSITIVE_INFINITY;
    let events = 0;
    const end = await watchWindow({
      ...options,
      resourceVersion: from,
      timeoutSeconds: 240 + Math.floor(random() * 61),
      onOpen() {
        openedAtMs = clock.now();
        handler.note({ kind: "opened" });
      },
      onEvent(event) {
        if (takeEvent(event)) events += 1;
      },
    });
    if (signal.aborted) return;
    const durationMs = clock.now() - startedAtMs;
    handler.note({ kind: "ended", cause: end.kind, events, durationMs });
    if (events > 0 || clock.now() - openedAtMs >= WELL_AFTER_MS) watchFailures = 0;
    await afterWindow(end, events > 0, durationMs);
  }

  async function afterWindow(end: WindowEnd, progress: boolean, durationMs: number): Promise<void> {
    switch (end.kind) {
      case "gone":
      case "ahead":
        listNext(end.kind);
        if (!progress) await settleDown();
        return;
      case "rubbish":
        listNext("rubbish");
        await backOffWatch(failed("BadWatchEvent", end.message));
        return;
      case "refused":
        await backOffWatch(end.failure);
        return;
      case "silent":
      case "ended":
      case "lost":
        if (progress) return;
        if (durationMs >= SILENCE_MS) listNext("silent");
        else if (end.kind === "lost") await backOffWatch(end.failure);
        else await settleDown();
    }
  }

  /** Also keeps the version, by which the list is compared, until the list is there. */
  function listNext(why: ListCause): void {
    cause = why;
    listDueMs = 0;
  }

  /** Waits where nothing failed but nothing came either, so that no loop can spin; the first time it hardly waits. */
  async function settleDown(): Promise<void> {
    watchFailures += 1;
    await pause(clock, delay(watchFailures - 1), signal);
  }

  async function backOffWatch(failure: RequestFailure): Promise<void> {
    watchFailures += 1;
    if (watchFailures >= FAILURES_UNTIL_LIST && cause === "start") listNext("failures");
    await backOff(failure, watchFailures);
  }

  async function backOff(failure: RequestFailure, failures: number): Promise<void> {
    if (signal.aborted) return;
    const delayMs = Math.max(delay(failures), failure.retryAfterMs);
    handler.note({ kind: "failed", code: failure.code, message: failure.message, delayMs });
    await pause(clock, delayMs, signal);
  }

  function delay(exponent: number): number {
    return random() * Math.min(BACK_OFF_LIMIT_MS, BACK_OFF_BASE_MS * 2 ** Math.min(exponent, 20));
  }

  /** Whether the event moved the watch on. */
  function takeEvent({ type, object }: WatchEvent): boolean {
    if (type === "BOOKMARK") {
      const seen = metadataOf(object)["resourceVersion"];
      if (typeof seen !== "string") return false;
      version = seen;
      return true;
    }
    const key = keyOf(object);
    if (key === undefined) {
      noteMalformed(object);
      return false;
    }
    version = key.resourceVersion;
    if (type === "DELETED") known.forget(key);
    else known.apply(options.project(object), key);
    return true;
  }

  function take(object: unknown): ListedObject<T> {
    const record = object as Readonly<Record<string, unknown>>;
    const key = keyOf(record);
    if (key === undefined) noteMalformed(record);
    return { key, object: options.project(record) };
  }

  function noteMalformed(object: unknown): void {
    const name = JSON.stringify(metadataOf(object)["name"]) ?? "without a name";
    const message = `an object (${name.slice(0, 260)}) of ${options.path} has no usable name, uid or resourceVersion`;
    handler.note({ kind: "malformed", objects: 1, message });
  }
}
