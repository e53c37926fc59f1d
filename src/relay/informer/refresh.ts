import type { Transport } from "#kube/client/transport.ts";
import type { FollowBounds } from "#kube/follow/bounds.ts";
import { type Clock, pause } from "#kube/follow/clock.ts";
import { listPage } from "#kube/follow/list.ts";
import { type ObjectKey, parseObjectKey } from "#kube/follow/object-key.ts";
import { createListBudget, createPageSize, type PageSize } from "#kube/follow/page-size.ts";

export interface RefreshOptions {
  readonly transport: Transport;
  readonly path: string;
  readonly bounds: FollowBounds;
  readonly clock: Clock;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  readonly everySeconds: number;
  readonly signal: AbortSignal;
  /** Returns the number of resyncs that wait to be sent. The next page is read when most of them are sent. */
  readonly outstanding: () => number;
  readonly resync: (object: Readonly<Record<string, unknown>>, key: ObjectKey) => void;
  readonly note: (note: {
    readonly kind: "refreshed";
    readonly objects: number;
    readonly durationMs: number;
  }) => void;
}

/** A page is read when at most this many objects of earlier pages still wait, so memory holds one page. */
const PAGE_WHEN_BELOW = 100;
const RESYNC_RETRY_MS = 500;

/**
 * Resyncs every object once in `everySeconds`, each pass at its own jittered time, the first after a random
 * part of it: relays that start together must not list together. Resolves when the signal fires.
 */
export async function refreshForever(options: RefreshOptions): Promise<void> {
  const { clock, random, signal } = options;
  const everyMs = options.everySeconds * 1000;
  const size = createPageSize();
  let waitMs = random() * everyMs;
  while (!signal.aborted) {
    await pause(clock, waitMs, signal);
    if (signal.aborted) return;
    const startedMs = clock.now();
    const objects = await refreshOnce(options, size);
    const durationMs = clock.now() - startedMs;
    options.note({ kind: "refreshed", objects, durationMs });
    waitMs = Math.max(everyMs / 10, everyMs * (0.9 + 0.2 * random()) - durationMs);
  }
}

/**
 * Makes one pass, page by page. A pass that breaks off is not continued: another one follows, and the watch
 * reports what is wrong.
 */
async function refreshOnce(options: RefreshOptions, size: PageSize): Promise<number> {
  const { bounds, clock, path, signal } = options;
  // The time limit of a list does not apply: a pass waits more for functions than for the server.
  const budget = createListBudget(bounds, path, undefined);
  let objects = 0;
  let token: string | undefined;
  let hasExpired = false;
  do {
    const page = await resyncPage(options, token, size);
    // While its pages wait for functions, a pass outlives its tokens. It continues with the list as it is now,
    // because each object counts by itself.
    if (page.hasExpired && hasExpired) break;
    hasExpired = page.hasExpired;
    objects += page.objects;
    token = page.next;
    budget.spend(page.bytes);
    if (objects > 2 * bounds.objects || budget.refuses() !== undefined) break;
    while (token !== undefined && options.outstanding() >= PAGE_WHEN_BELOW && !signal.aborted) {
      await pause(clock, RESYNC_RETRY_MS, signal);
    }
  } while (token !== undefined && !signal.aborted);
  return objects;
}

interface ResyncedPage {
  readonly objects: number;
  readonly bytes: number;
  readonly next: string | undefined;
  /** Whether the given token had expired. */
  readonly hasExpired: boolean;
}

async function resyncPage(
  { transport, path, bounds, signal, resync }: RefreshOptions,
  token: string | undefined,
  size: PageSize,
): Promise<ResyncedPage> {
  let objects = 0;
  const onObject = (object: unknown): void => {
    const key = parseObjectKey(object);
    if (key === undefined) return;
    resync(object as Readonly<Record<string, unknown>>, key);
    objects += 1;
  };
  const page = await listPage(transport, path, token, onObject, signal, { size, bounds });
  const bytes = page.kind === "page" ? page.bytes : 0;
  const next = page.kind === "failed" ? undefined : page.next;
  return { objects, bytes, next, hasExpired: page.kind === "expired" };
}
