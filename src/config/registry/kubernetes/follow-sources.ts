import { ClustersFileError, hasNoEntries } from "#config/clusters-file.ts";
import { buildEntries } from "#config/registry/kubernetes/build-entries.ts";
import type { BuildEntryOptions } from "#config/registry/kubernetes/build-entry.ts";
import { type FoundObject, isServed, type Source } from "#config/registry/kubernetes/sources.ts";
import type { FollowRegistryOptions } from "#config/registry/registry.ts";
import { getErrorMessage } from "#core/sanitize-text.ts";
import type { Transport } from "#kube/client/transport.ts";
import { type Clock, pause, systemClock } from "#kube/follow/clock.ts";
import { formatFullName } from "#kube/follow/object-key.ts";
import { watchResource } from "#kube/follow/watch.ts";
import type { WatchNote } from "#kube/follow/watch-handler.ts";

export interface FollowSourcesOptions extends FollowRegistryOptions {
  readonly home: string;
  readonly connect: () => Promise<Transport>;
  readonly sources: readonly Source[];
  readonly entries: BuildEntryOptions;
}

/** Changes within this time are processed together. */
const GATHERED_MS = 100;
/** Milliseconds until an unreadable Secret or a failed sign-in to the management cluster is retried. */
const AGAIN_MS = 30_000;
/** A kind that is not served for so many times `AGAIN_MS` was removed. */
const UNSERVED_TRIES = 2;
/** Consecutive failed requests of one watch before an error is reported. */
const FAILURES_BEFORE_REPORT = 2;

/**
 * Watches the objects that describe clusters until the signal fires. While requests fail, the last known
 * state stays.
 */
export async function followFound(options: FollowSourcesOptions): Promise<void> {
  const { signal, clock = systemClock, random = Math.random } = options;
  const again = options.intervalMs ?? AGAIN_MS;
  let wake = new AbortController();
  let isDirty = false;
  let said = "";
  let hadClusters = false;
  const stirred = (): void => {
    isDirty = true;
    wake.abort();
  };
  const unsubscribe = options.onReread?.(() => {
    said = "";
    stirred();
  });
  signal.addEventListener("abort", stirred);

  const transport = await connectAtLast();
  if (transport === undefined) return end();
  const watched = options.sources.map((source) =>
    watchSource(source, transport, { signal, clock, random, againMs: again, stirred }),
  );
  while (!signal.aborted) {
    wake = new AbortController();
    if (!isDirty) await pause(clock, again, wake.signal);
    if (signal.aborted) break;
    await pause(clock, Math.min(GATHERED_MS, again), signal);
    isDirty = false;
    if (!signal.aborted) await deliver(transport);
  }
  await Promise.all(watched.map(({ ended }) => ended));
  await transport.close();
  end();

  function end(): void {
    signal.removeEventListener("abort", stirred);
    unsubscribe?.();
  }

  async function connectAtLast(): Promise<Transport | undefined> {
    while (!signal.aborted) {
      try {
        return await options.connect();
      } catch (error) {
        tell(getErrorMessage(error), "Unreadable");
        await pause(clock, again, signal);
      }
    }
    return undefined;
  }

  async function deliver(through: Transport): Promise<void> {
    const failure = watched.map(({ failure }) => failure()).find((each) => each !== undefined);
    if (failure !== undefined) return tell(failure, "Unreadable");
    if (!watched.every(({ isListed }) => isListed())) return;
    const found = watched.flatMap(({ found }) => [...found.values()]);
    const content = await buildEntries(found, through, options.entries, signal);
    if (signal.aborted) return;
    if (hasNoEntries(content) && hadClusters) return tell(NOTHING_LEFT, "Invalid");
    hadClusters ||= !hasNoEntries(content);
    const text = JSON.stringify(content);
    if (text !== said) options.onContent(content);
    said = text;
  }

  /** Reports a problem once for as long as it lasts, even if the cause changes. */
  function tell(message: string, code: ClustersFileError["code"]): void {
    if (said === code) return;
    said = code;
    options.onError(new ClustersFileError(code, options.home, [{ path: "", message }]));
  }
}

const NOTHING_LEFT = "all clusters are gone from it at once; where that is meant, end what follows them";

interface WatchedSource {
  readonly found: ReadonlyMap<string, FoundObject>;
  isListed(): boolean;
  /** Why it cannot be followed at present. */
  failure(): string | undefined;
  readonly ended: Promise<void>;
}

interface Watching {
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly random: () => number;
  /** Milliseconds until a failed operation is retried. */
  readonly againMs: number;
  /** Called on every change. */
  readonly stirred: () => void;
}

function watchSource(
  source: Source,
  transport: Transport,
  { signal, clock, random, againMs, stirred }: Watching,
): WatchedSource {
  const { path, find } = source;
  const found = new Map<string, FoundObject>();
  let isListed = false;
  let failures = 0;
  let failure: string | undefined;

  function note(note: WatchNote): void {
    if (note.kind === "listed" || note.kind === "opened") {
      isListed ||= note.kind === "listed";
      if (failures > 0 || note.kind === "listed") stirred();
      failures = 0;
      failure = undefined;
    }
    if (note.kind === "failed") failed(note.message);
  }

  function failed(message: string): void {
    failures += 1;
    if (failures < FAILURES_BEFORE_REPORT) return;
    failure = `${path.split("?", 1)[0]} cannot be followed: ${message}`;
    stirred();
  }

  /** A kind that the API server does not serve has no objects; wait until it is served. */
  async function untilServed(): Promise<void> {
    while (!signal.aborted) {
      try {
        if (await isServed(source, transport, signal)) return;
        if (!isListed || failures > 0) stirred();
        isListed = true;
        failures = 0;
        failure = undefined;
      } catch (error) {
        if (!signal.aborted) failed(getErrorMessage(error));
      }
      await pause(clock, againMs, signal);
    }
  }

  /** Watches until the signal fires, or until the API server has long not served the kind. */
  async function watchWhileServed(): Promise<void> {
    const removed = new AbortController();
    const proveRemoval = createRemovalProof();
    await watchResource<{ readonly found?: FoundObject }>({
      transport,
      path,
      // Credentials end here: only the location of the cluster is kept of an object.
      project(object) {
        const source = find(object);
        return source === undefined ? {} : { found: source };
      },
      handler: {
        applied({ found: source }, key) {
          if (source === undefined) found.delete(formatFullName(key));
          else found.set(formatFullName(key), source);
          stirred();
        },
        deleted(key) {
          found.delete(formatFullName(key));
          stirred();
        },
        restarted() {},
        note(each) {
          note(each);
          void proveRemoval(each).then((isRemoved) => isRemoved && removed.abort());
        },
      },
      clock,
      random,
      signal: AbortSignal.any([signal, removed.signal]),
    });
  }

  /**
   * Returns whether the kind was removed: every answer for a while, each after a failure of the watch, is that it
   * is not served. An API server that starts may say so of a kind that it serves later.
   */
  function createRemovalProof(): (note: WatchNote) => Promise<boolean> {
    let sinceMs: number | undefined;
    let isAsking = false;
    return async ({ kind }) => {
      if (kind !== "failed") sinceMs = undefined;
      if (kind !== "failed" || source.group === undefined || isAsking) return false;
      isAsking = true;
      const isUnserved = await isServed(source, transport, signal).then(
        (isServed) => !isServed,
        () => false,
      );
      isAsking = false;
      const nowMs = clock.now();
      sinceMs = isUnserved ? (sinceMs ?? nowMs) : undefined;
      return sinceMs !== undefined && nowMs - sinceMs >= UNSERVED_TRIES * againMs;
    };
  }

  async function follow(): Promise<void> {
    while (!signal.aborted) {
      await untilServed();
      if (!signal.aborted) await watchWhileServed();
      // Now there is no such object; the next round says so.
      if (!signal.aborted) found.clear();
    }
  }

  return { found, isListed: () => isListed, failure: () => failure, ended: follow() };
}
