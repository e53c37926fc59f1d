import { getBackOffMs } from "#core/back-off.ts";
import { createLimitsInForce, DEFAULT_BOUNDS, LIST_LIMITS, WATCH_LIMITS } from "#kube/follow/bounds.ts";
import { pause } from "#kube/follow/clock.ts";
import { createFollowedObjects } from "#kube/follow/followed-objects.ts";
import { listAll, listVersion } from "#kube/follow/list.ts";
import { isOlderVersion } from "#kube/follow/object-key.ts";
import { createPageSize } from "#kube/follow/page-size.ts";
import { createFailure, isServerAway, type RequestFailure } from "#kube/follow/request-failure.ts";
import type { ListCause, WatchOptions } from "#kube/follow/watch-handler.ts";
import { createAdmission, createWatchRateLimiter } from "#kube/follow/watch-rate-limiter.ts";
import { SILENCE_MS, type WindowEnd, watchWindow } from "#kube/follow/watch-window.ts";

/** Longest time between lists, even with a healthy watch; a list starts up to one window earlier. */
const LIST_EVERY_MS = 15 * 60_000;
const LONGEST_WINDOW_MS = 330_000;

const BACK_OFF = { baseMs: 250, limitMs: 30_000 };

/** A watch open for this long proves a healthy server, even without data. */
const WELL_AFTER_MS = 5_000;

/** A watch open for this long within all limits clears earlier violations. */
const WELL_BEHAVED_AFTER_MS = 20_000;

/** Consecutive watch failures before a list is made. */
const FAILURES_UNTIL_LIST = 3;

/** How long a watch waits for its rate before it is opened again: what it received may be minutes old. */
const LATE_AFTER_MS = 10_000;

/** Consecutive early ends that are resumed at once; after that the watch waits in between, whatever arrived. */
const EARLY_ENDS_AT_ONCE = 30;

/** Lists closer together count as early ends, and after several of them the watch waits in between, too. */
const LISTS_APART_MS = 10_000;
const EARLY_LISTS_AT_ONCE = 5;

/** Time until a new list looks for objects that were left out. */
const SKIPPED_OBJECTS_RECHECK_MS = 30_000;

/** Consecutive watches with unreadable lines before they count as a state of the cluster, not an accident. */
const RUBBISH_UNTIL_LIMITED = 3;

/**
 * Follows all objects of a resource: a list, then watches resumed from the last version, and a new list
 * whenever the watch cannot be trusted. Resolves when the signal fires; until then it keeps trying.
 */
export async function watchResource<T>(options: WatchOptions<T>): Promise<void> {
  const { clock, handler, random, signal, path, bounds = DEFAULT_BOUNDS } = options;
  const pace = options.pace ?? createWatchRateLimiter(clock, bounds.watchEventsPerSecond);
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
  /** Consecutive watches that were ended for violations; other data do not reset it. */
  let violations = 0;
  let earlyEnds = 0;
  let earlyLists = 0;
  /** Whether `version` may be unknown to the server's history: its store may have been restored meanwhile. */
  let isUnproven = false;
  /** The connection on which the version is known to be of the server's history; any after a list or a comparison. */
  let connection: object | undefined;
  /**
   * Whether the watch received data since the last comparison; one that repeatedly gets lost before does not
   * count as alive.
   */
  let isWatchHeard = true;

  while (!signal.aborted) {
    if (version === undefined || clock.now() >= listDueMs) {
      if (version !== undefined && cause === "start") cause = "periodic";
      const failure = await list();
      if (failure === undefined) continue;
      listFailures += 1;
      // A periodic list looks for what a working watch has missed. While the server cannot list, the watch goes on.
      if (cause !== "periodic" || version === undefined || isUnproven) {
        await backOff(failure, listFailures);
        continue;
      }
      listDueMs = clock.now() + noteFailure(failure, listFailures);
    }
    if (isUnproven) await prove(version);
    else await follow(version);
  }

  /** Lists and reports the differences. */
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
    // A recovered server starts without failures. A server with working lists and failing watches does not,
    // or every list would be followed by another.
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
   * Compares the followed state with the server's by a list of one object. A watch from a future version gets
   * 200 and stays silent, or continues in the middle of another history.
   */
  async function prove(from: string): Promise<void> {
    const page = await listVersion(options.transport, path, signal, bounds);
    if (signal.aborted) return;
    if (page.kind !== "page") {
      const failure = page.kind === "failed" ? page : createFailure("Expired", `the list of ${path} expired`);
      if (isServerAway(failure)) listNext("failures");
      return backOffWatch(failure);
    }
    isUnproven = false;
    connection = undefined;
    const objects = page.remaining === undefined ? undefined : page.objects + page.remaining;
    if (isOlderVersion(page.resourceVersion, from) || followed.differsFrom(objects)) return listNext("ahead");
    if (isWatchHeard) options.onHeard?.();
    isWatchHeard = false;
  }

  /** Runs one watch request and decides the next step by its end. */
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
        await backOffWatch(createFailure("BadWatchEvent", end.message));
        return;
      case "limited":
        // Unreadable objects may have changed.
        listNext("rubbish");
        await backOffWatch(end.failure);
        return;
      case "refused":
        // A proxy in front of an unavailable server answers in its place.
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
          listDueMs = Math.min(listDueMs, listedMs + SKIPPED_OBJECTS_RECHECK_MS);
    }
  }

  /** The version is compared before it is used again. */
  function lose(): void {
    isUnproven = true;
    options.onLost?.();
  }

  async function afterLoss(failure: RequestFailure, wasOpen: boolean): Promise<void> {
    if (isServerAway(failure)) listNext("failures");
    if (!wasOpen || watchFailures > 0) return backOffWatch(failure);
    // The first retry is immediate: it detects an unavailable server while it is away, and lists once it is
    // back.
    watchFailures += 1;
    handler.note({ kind: "failed", code: failure.code, message: failure.message, delayMs: 0 });
  }

  /** Keeps the version until the list arrives, to compare it. */
  function listNext(why: ListCause): void {
    cause = why;
    listDueMs = 0;
  }

  /** Waits if the server would otherwise cause one request after another. */
  async function waitBefore(what: "list" | "watch", times: number): Promise<void> {
    const message = `each ${what} of ${path} leads to the next at once; the next ones are delayed`;
    limits.enter("watchPace", message);
    await pause(clock, delay(times), signal);
  }

  /**
   * Waits after a watch without failure and without data, so that no loop can spin; the first wait is very
   * short.
   */
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
    if (!signal.aborted) await pause(clock, noteFailure(failure, failures), signal);
  }

  /** Notes a failure, and returns the milliseconds until the next try. */
  function noteFailure(failure: RequestFailure, failures: number): number {
    const { code, message, limit } = failure;
    if (limit !== undefined) limits.meet(limit, message);
    const limitMs = failure.isWithheld === true ? options.maxWithheldMs : undefined;
    const delayMs = Math.max(delay(failures, limitMs), failure.retryAfterMs);
    handler.note({
      ...{ kind: "failed", code, message, delayMs },
      ...(limit === undefined ? {} : { limit }),
      ...(failure.isWithheld === true ? { isWithheld: true as const } : {}),
    });
    return delayMs;
  }

  function delay(exponent: number, limitMs = BACK_OFF.limitMs): number {
    return random() * getBackOffMs({ ...BACK_OFF, limitMs }, exponent);
  }
}
