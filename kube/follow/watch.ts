import type { Transport } from "#kube/client/transport.ts";
import { type Clock, pause } from "#kube/follow/clock.ts";
import { listAll, type RequestFailure } from "#kube/follow/list.ts";
import { isOlderVersion } from "#kube/follow/resource-version.ts";
import { SILENCE_MS, type WatchEvent, type WindowEnd, watchWindow } from "#kube/follow/watch-window.ts";

/** What is remembered of every object there is, and no more. */
export interface ObjectKey {
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
}

/** What a watch tells; calls come one after another, never at the same time, and must not throw. */
export interface WatchHandler<T> {
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
  | { readonly kind: "failed"; readonly code: string; readonly message: string; readonly delayMs: number }
  /** An object without a name, uid or resourceVersion was left out. */
  | { readonly kind: "malformed"; readonly message: string };

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

/** After so many failures in a row the list is asked instead of the watch. */
const FAILURES_UNTIL_LIST = 3;

/**
 * Follows all objects of a resource: a list, then watches that are resumed from the last version seen, and a list again
 * whenever the watch cannot be trusted. Resolves when the signal fires; until then it keeps trying.
 */
export async function watchResource<T>(options: WatchOptions<T>): Promise<void> {
  const { clock, handler, random, signal } = options;
  const known = new Map<string, ObjectKey>();
  let version: string | undefined;
  let listDueMs = 0;
  let cause: ListCause = "start";
  let failures = 0;

  while (!signal.aborted) {
    if (version === undefined || clock.now() >= listDueMs) {
      if (version !== undefined && cause === "start") cause = "periodic";
      const failure = await list();
      if (failure !== undefined) await backOff(failure);
      continue;
    }
    await follow(version);
  }

  /** Lists, and tells what differs from what was known. */
  async function list(): Promise<RequestFailure | undefined> {
    const startedAtMs = clock.now();
    const found = await listAll(options.transport, options.path, take, signal);
    if (signal.aborted) return undefined;
    if (found.kind === "failed") return found;
    const restarted = version !== undefined && isOlderVersion(found.resourceVersion, version);
    if (restarted) handler.restarted();
    const present = new Map<string, string>();
    for (const item of found.items) if (item.key !== undefined) present.set(item.key.name, item.key.uid);
    for (const key of [...known.values()]) if (present.get(key.name) !== key.uid) forget(key);
    for (const { key, object } of found.items) {
      if (key === undefined) continue;
      const changed = known.get(key.name)?.resourceVersion !== key.resourceVersion;
      if (changed || restarted) apply(key, object);
    }
    version = found.resourceVersion;
    listDueMs = clock.now() + (LIST_EVERY_MS - LONGEST_WINDOW_MS) * (0.75 + 0.25 * random());
    const durationMs = clock.now() - startedAtMs;
    handler.note({ kind: "listed", cause, objects: present.size, durationMs, restarted });
    cause = "start";
    return undefined;
  }

  /** One watch request, and what its end means for the next step. */
  async function follow(from: string): Promise<void> {
    const startedAtMs = clock.now();
    let events = 0;
    const end = await watchWindow({
      ...options,
      resourceVersion: from,
      timeoutSeconds: 240 + Math.floor(random() * 61),
      onOpen: () => handler.note({ kind: "opened" }),
      onEvent(event) {
        if (takeEvent(event)) events += 1;
      },
    });
    if (signal.aborted) return;
    const durationMs = clock.now() - startedAtMs;
    handler.note({ kind: "ended", cause: end.kind, events, durationMs });
    if (events > 0) failures = 0;
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
        await backOff({ kind: "failed", code: "BadWatchEvent", message: end.message, retryAfterMs: 0 });
        return;
      case "refused":
        await backOff(end.failure);
        return;
      case "silent":
      case "ended":
      case "lost":
        if (progress) return;
        if (durationMs >= SILENCE_MS) listNext("silent");
        else if (end.kind === "lost") await backOff(end.failure);
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
    failures += 1;
    await pause(clock, delay(failures - 1), signal);
  }

  async function backOff(failure: RequestFailure): Promise<void> {
    if (signal.aborted) return;
    failures += 1;
    if (version !== undefined && failures >= FAILURES_UNTIL_LIST && cause === "start") listNext("failures");
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
    if (type === "DELETED") forget(key);
    else apply(key, options.project(object));
    return true;
  }

  function take(object: unknown): { readonly key: ObjectKey | undefined; readonly object: T } {
    const record = object as Readonly<Record<string, unknown>>;
    const key = keyOf(record);
    if (key === undefined) noteMalformed(record);
    return { key, object: options.project(record) };
  }

  function apply(key: ObjectKey, object: T): void {
    const before = known.get(key.name);
    // A name that is taken again is another object: the end of the first was missed.
    if (before !== undefined && before.uid !== key.uid) forget(before);
    known.set(key.name, key);
    handler.applied(object, key);
  }

  function forget(key: ObjectKey): void {
    if (known.get(key.name)?.uid !== key.uid) return;
    known.delete(key.name);
    handler.deleted(key);
  }

  function noteMalformed(object: unknown): void {
    const name = JSON.stringify(metadataOf(object)["name"]) ?? "without a name";
    const message = `an object (${name.slice(0, 260)}) of ${options.path} has no usable name, uid or resourceVersion`;
    handler.note({ kind: "malformed", message });
  }
}

/** The key of an object, or undefined where it has none. */
export function keyOf(object: unknown): ObjectKey | undefined {
  const { name, uid, resourceVersion } = metadataOf(object);
  if (!isText(name) || !isText(uid) || !isText(resourceVersion)) return undefined;
  return { name, uid, resourceVersion };
}

function metadataOf(object: unknown): Readonly<Record<string, unknown>> {
  const metadata =
    typeof object === "object" && object !== null && "metadata" in object ? object.metadata : null;
  return typeof metadata === "object" && metadata !== null ? (metadata as Record<string, unknown>) : {};
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}
