import type { LimitName } from "#kube/client/limit-name.ts";
import type { Transport } from "#kube/client/transport.ts";
import { createAdmission } from "#kube/follow/admission.ts";
import { DEFAULT_BOUNDS, type FollowBounds } from "#kube/follow/bounds.ts";
import { type Clock, pause } from "#kube/follow/clock.ts";
import { createFollowedObjects } from "#kube/follow/followed-objects.ts";
import type { KnownObjectsHandler } from "#kube/follow/known-objects.ts";
import {
  createLimitsInForce,
  LIST_LIMITS,
  type LimitNote,
  WATCH_LIMITS,
} from "#kube/follow/limits-in-force.ts";
import { listAll, listVersion } from "#kube/follow/list.ts";
import type { MalformedNote } from "#kube/follow/malformed-objects.ts";
import type { ObjectKey } from "#kube/follow/object-key.ts";
import { createPace, type Pace } from "#kube/follow/pace.ts";
import { createPageSize } from "#kube/follow/page-size.ts";
import { type FailureCode, failed, type RequestFailure } from "#kube/follow/request-failure.ts";
import { isOlderVersion } from "#kube/follow/resource-version.ts";
import { SILENCE_MS, type WindowEnd, watchWindow } from "#kube/follow/watch-window.ts";

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
      /** That are followed now. */
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
  | LimitNote
  | MalformedNote;

export interface WatchOptions<T> {
  readonly transport: Transport;
  /** Of the collection, such as `/api/v1/nodes`, or of one object of it (`followedPath`). */
  readonly path: string;
  /** Cuts an object down to what is of use, at the door; objects are not kept. */
  readonly project: (object: Readonly<Record<string, unknown>>) => T;
  readonly handler: WatchHandler<T>;
  readonly clock: Clock;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  readonly signal: AbortSignal;
  readonly bounds?: FollowBounds;
  /** Of all watches of the cluster together; one of its own without it. */
  readonly pace?: Pace;
  /** Called whenever anything of the watch arrives, bookmarks included, and once after that when a comparison shows that it goes on where it was. */
  readonly onHeard?: () => void;
  /** Called when the connection was lost: nothing is known of the server until something is heard or listed. */
  readonly onLost?: () => void;
}

/** Lists come at least this often, whatever the watch says; they start up to one window earlier than the limit. */
const LIST_EVERY_MS = 15 * 60_000;
const LONGEST_WINDOW_MS = 330_000;

const BACK_OFF_BASE_MS = 250;
const BACK_OFF_LIMIT_MS = 30_000;

/** A watch that was open for so long shows that the server is well, even where nothing came. */
const WELL_AFTER_MS = 5_000;

/** A watch that was open for so long without going beyond a limit is forgiven what those before it did. */
const WELL_BEHAVED_AFTER_MS = 20_000;

/** After so many failures of the watch in a row the list is asked instead of the watch. */
const FAILURES_UNTIL_LIST = 3;

/** A watch that waits for its pace is asked anew after so long: megabytes that were received already may be of minutes ago by then. */
const LATE_AFTER_MS = 10_000;

/** So many watches that end early, one after another, are resumed at once; then they are waited between, whatever they brought. */
const EARLY_ENDS_AT_ONCE = 30;

/** Lists that follow so soon upon another count as early, and after so many of these they are waited between, too. */
const LISTS_APART_MS = 10_000;
const EARLY_LISTS_AT_ONCE = 5;

/** Objects that were left out are looked for so long after the list that left them out. */
const LOOK_FOR_LEFT_OUT_MS = 30_000;

/** Lines that cannot be read, one watch after another, until that is a state of the cluster rather than an accident. */
const RUBBISH_UNTIL_LIMITED = 3;

/**
 * Follows all objects of a resource: a list, then watches that are resumed from the last version seen, and a list again
 * whenever the watch cannot be trusted. Resolves when the signal fires; until then it keeps trying.
 */
export async function watchResource<T>(options: WatchOptions<T>): Promise<void> {
  const { clock, handler, random, signal, path, bounds = DEFAULT_BOUNDS } = options;
  const pace = options.pace ?? createPace(clock, bounds.watchEventsPerSecond);
  const limits = createLimitsInForce(handler.note);
  const followed = createFollowedObjects({ handler, limits, path, bounds, pace, project: options.project });
  const admit = createAdmission({ pace, limits, path, bounds, clock, signal });
  const size = createPageSize();
  let version: string | undefined;
  let listedMs = Number.NEGATIVE_INFINITY;
  let listDueMs = 0;
  let cause: ListCause = "start";
  let listFailures = 0;
  let watchFailures = 0;
  /** Watches in a row that were ended for what they brought; nothing else that they brought makes up for it. */
  let violations = 0;
  let earlyEnds = 0;
  let earlyLists = 0;
  /** Whether `version` may be of a history that the server does not have: its store may have been set back meanwhile. */
  let isUnproven = false;
  /** The connection on which the version is known to be of the server's history; any after a list or a comparison. */
  let connection: object | undefined;
  /** Whether the watch has brought anything since the last comparison; one that is lost again and again before it does is not alive. */
  let isWatchHeard = true;

  while (!signal.aborted) {
    if (version === undefined || clock.now() >= listDueMs) {
      if (version !== undefined && cause === "start") cause = "periodic";
      const failure = await list();
      if (failure === undefined) continue;
      listFailures += 1;
      await backOff(failure, listFailures);
      continue;
    }
    if (isUnproven) await prove(version);
    else await follow(version);
  }

  /** Lists, and tells what differs from what was known. */
  async function list(): Promise<RequestFailure | undefined> {
    earlyLists = clock.now() - listedMs < LISTS_APART_MS ? earlyLists + 1 : 0;
    if (earlyLists > EARLY_LISTS_AT_ONCE) await waitBefore("list", earlyLists - EARLY_LISTS_AT_ONCE);
    const startedAtMs = clock.now();
    const request = followed.begin();
    const found = await listAll(options.transport, path, request.take, signal, { size, bounds, clock });
    if (signal.aborted) return undefined;
    if (found.kind === "failed") {
      request.end();
      return found;
    }
    const older = version !== undefined && isOlderVersion(found.resourceVersion, version);
    const restarted = await request.replace({ ...found, older }, signal);
    request.end();
    if (signal.aborted) return undefined;
    limits.lift(...LIST_LIMITS);
    // A server that is back begins anew; one whose watches fail beside it does not, or every list would be followed by the next.
    if (listFailures > 0) watchFailures = 0;
    listFailures = 0;
    version = found.resourceVersion;
    isUnproven = false;
    connection = undefined;
    isWatchHeard = true;
    listedMs = clock.now();
    listDueMs = listedMs + (LIST_EVERY_MS - LONGEST_WINDOW_MS) * (0.75 + 0.25 * random());
    const durationMs = listedMs - startedAtMs;
    handler.note({ kind: "listed", cause, objects: followed.count(), durationMs, restarted });
    cause = "start";
    return undefined;
  }

  /**
   * Compares what was followed with what the server has now, by a list of one object: a watch from a version of the future is answered
   * 200 and stays silent, or goes on in the middle of another history once that has come so far.
   */
  async function prove(from: string): Promise<void> {
    const page = await listVersion(options.transport, path, signal, bounds);
    if (signal.aborted) return;
    if (page.kind !== "page") {
      const failure = page.kind === "failed" ? page : failed("Expired", `the list of ${path} expired`);
      if (isAway(failure)) listNext("failures");
      return backOffWatch(failure);
    }
    isUnproven = false;
    connection = undefined;
    const objects = page.remaining === undefined ? undefined : page.items.length + page.remaining;
    if (isOlderVersion(page.resourceVersion, from) || followed.differsFrom(objects)) return listNext("ahead");
    if (isWatchHeard) options.onHeard?.();
    isWatchHeard = false;
  }

  /** One watch request, and what its end means for the next step. */
  async function follow(from: string): Promise<void> {
    const startedAtMs = clock.now();
    let openedAtMs = Number.POSITIVE_INFINITY;
    let events = 0;
    let cancelWell: () => void = () => {};
    const request = followed.begin();
    const end = await watchWindow({
      ...options,
      maxLineBytes: bounds.watchLineBytes,
      admit,
      isLate: () => pace.isHeld() && clock.now() - openedAtMs >= LATE_AFTER_MS,
      resourceVersion: from,
      timeoutSeconds: 240 + Math.floor(random() * 61),
      onOpen(on) {
        if (connection !== undefined && on !== connection) return false;
        connection = on;
        openedAtMs = clock.now();
        cancelWell = clock.after(WELL_BEHAVED_AFTER_MS, () => {
          violations = 0;
          limits.lift(...WATCH_LIMITS, ...(pace.isHeld() ? [] : (["watchPace"] as const)));
        });
        handler.note({ kind: "opened" });
        return true;
      },
      onHeard() {
        isWatchHeard = true;
        options.onHeard?.();
      },
      onEvent(event) {
        const seen = request.event(event);
        if (seen === undefined) return request.failure();
        version = seen;
        events += 1;
        return undefined;
      },
    });
    cancelWell();
    request.end();
    if (signal.aborted) return;
    const durationMs = clock.now() - startedAtMs;
    handler.note({ kind: "ended", cause: end.kind, events, durationMs });
    const isViolation = end.kind === "limited" || end.kind === "rubbish";
    if (isViolation) violations += 1;
    else if (events > 0 || clock.now() - openedAtMs >= WELL_AFTER_MS) watchFailures = 0;
    earlyEnds = durationMs < WELL_AFTER_MS ? earlyEnds + 1 : 0;
    await afterWindow(end, { progress: events > 0, wasOpen: Number.isFinite(openedAtMs), durationMs });
  }

  async function afterWindow(
    end: WindowEnd,
    { progress, wasOpen, durationMs }: { progress: boolean; wasOpen: boolean; durationMs: number },
  ): Promise<void> {
    switch (end.kind) {
      case "reconnected":
        lose();
        return;
      case "gone":
      case "ahead":
        listNext(end.kind);
        if (!progress) await settleDown();
        return;
      case "rubbish":
        listNext("rubbish");
        if (violations >= RUBBISH_UNTIL_LIMITED) limits.enter("malformedObjects", end.message);
        await backOffWatch(failed("BadWatchEvent", end.message));
        return;
      case "limited":
        // Objects that could not be read may have changed.
        listNext("rubbish");
        await backOffWatch(end.failure);
        return;
      case "refused":
        // What stands before a server that is away answers in its place.
        if (!wasOpen && end.failure.code === "Unavailable") lose();
        await backOffWatch(end.failure);
        return;
      case "silent":
      case "ended":
      case "lost":
        if (end.kind !== "ended") lose();
        if (progress) {
          if (earlyEnds > EARLY_ENDS_AT_ONCE) await waitBefore("watch", earlyEnds - EARLY_ENDS_AT_ONCE);
        } else if (durationMs >= SILENCE_MS) listNext("silent");
        else if (end.kind === "lost") await afterLoss(end.failure, wasOpen);
        else await settleDown();
        if (followed.mayHaveRoom() && cause === "start")
          listDueMs = Math.min(listDueMs, listedMs + LOOK_FOR_LEFT_OUT_MS);
    }
  }

  /** The version is compared before it is used again. */
  function lose(): void {
    isUnproven = true;
    options.onLost?.();
  }

  async function afterLoss(failure: RequestFailure, wasOpen: boolean): Promise<void> {
    if (isAway(failure)) listNext("failures");
    if (!wasOpen || watchFailures > 0) return backOffWatch(failure);
    // At once, the first time: a server that is away is found to be so while it is, and is listed when it is back.
    watchFailures += 1;
    handler.note({ kind: "failed", code: failure.code, message: failure.message, delayMs: 0 });
  }

  /** Also keeps the version, by which the list is compared, until the list is there. */
  function listNext(why: ListCause): void {
    cause = why;
    listDueMs = 0;
  }

  /** Waits where the server has its way with nothing but the next request, again and again. */
  async function waitBefore(what: "list" | "watch", times: number): Promise<void> {
    const message = `each ${what} of ${path} leads to the next at once, again and again; they wait for each other`;
    limits.enter("watchPace", message);
    await pause(clock, delay(times), signal);
  }

  /** Waits where nothing failed but nothing came either, so that no loop can spin; the first time it hardly waits. */
  async function settleDown(): Promise<void> {
    watchFailures += 1;
    await pause(clock, delay(watchFailures - 1), signal);
  }

  async function backOffWatch(failure: RequestFailure): Promise<void> {
    watchFailures += 1;
    if (watchFailures >= FAILURES_UNTIL_LIST && cause === "start") listNext("failures");
    await backOff(failure, Math.max(watchFailures, violations));
  }

  async function backOff(failure: RequestFailure, failures: number): Promise<void> {
    if (signal.aborted) return;
    const { code, message, limit } = failure;
    if (limit !== undefined) limits.meet(limit, message);
    const delayMs = Math.max(delay(failures), failure.retryAfterMs);
    handler.note({ kind: "failed", code, message, delayMs, ...(limit === undefined ? {} : { limit }) });
    await pause(clock, delayMs, signal);
  }

  function delay(exponent: number): number {
    return random() * Math.min(BACK_OFF_LIMIT_MS, BACK_OFF_BASE_MS * 2 ** Math.min(exponent, 20));
  }
}

/** Nobody takes connections there: whatever takes them next may have another history, which may have overtaken ours by then. */
function isAway({ code }: RequestFailure): boolean {
  return code === "ConnectionRefused" || code === "ConnectFailed";
}
