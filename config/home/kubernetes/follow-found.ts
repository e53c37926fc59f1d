import { ClustersFileError, hasNoEntries } from "#config/clusters-file.ts";
import type { FollowHomeOptions } from "#config/home/home.ts";
import { entriesOfFound } from "#config/home/kubernetes/entries-of-found.ts";
import type { EntryOfFoundOptions } from "#config/home/kubernetes/entry-of-found.ts";
import { type Found, isServed, type Source } from "#config/home/kubernetes/sources.ts";
import { messageOf } from "#core/message-of.ts";
import type { Transport } from "#kube/client/transport.ts";
import { type Clock, pause, systemClock } from "#kube/follow/clock.ts";
import { fullNameOf } from "#kube/follow/object-key.ts";
import { type WatchNote, watchResource } from "#kube/follow/watch.ts";

export interface FollowFoundOptions extends FollowHomeOptions {
  readonly home: string;
  readonly connect: () => Promise<Transport>;
  readonly sources: readonly Source[];
  readonly entries: EntryOfFoundOptions;
}

/** Changes that come together are taken together. */
const GATHERED_MS = 100;
/** A Secret that could not be read, and a management cluster that could not be signed in to, are tried again after so long. */
const AGAIN_MS = 30_000;
/** Requests of one watch that fail in a row until that is worth telling. */
const FAILURES_UNTIL_TOLD = 2;

/** Watches the objects by which clusters are found until the signal fires. What the last list and watch showed goes on while they fail. */
export async function followFound(options: FollowFoundOptions): Promise<void> {
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
        tell(messageOf(error), "Unreadable");
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
    const content = await entriesOfFound(found, through, options.entries, signal);
    if (signal.aborted) return;
    if (hasNoEntries(content) && hadClusters) return tell(NOTHING_LEFT, "Invalid");
    hadClusters ||= !hasNoEntries(content);
    const text = JSON.stringify(content);
    if (text !== said) options.onContent(content);
    said = text;
  }

  /** Says it once for as long as it is so, for whatever reasons one after another. */
  function tell(message: string, code: ClustersFileError["code"]): void {
    if (said === code) return;
    said = code;
    options.onError(new ClustersFileError(code, options.home, [{ path: "", message }]));
  }
}

const NOTHING_LEFT = "all clusters are gone from it at once; where that is meant, end what follows them";

interface WatchedSource {
  readonly found: ReadonlyMap<string, Found>;
  isListed(): boolean;
  /** Why it cannot be followed now. */
  failure(): string | undefined;
  readonly ended: Promise<void>;
}

interface Watching {
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly random: () => number;
  /** Until something that failed is tried again. */
  readonly againMs: number;
  /** Called whenever there is something new to be told. */
  readonly stirred: () => void;
}

function watchSource(
  source: Source,
  transport: Transport,
  { signal, clock, random, againMs, stirred }: Watching,
): WatchedSource {
  const { path, find } = source;
  const found = new Map<string, Found>();
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
    if (note.kind !== "failed") return;
    failed(note.message);
  }

  function failed(message: string): void {
    failures += 1;
    if (failures < FAILURES_UNTIL_TOLD) return;
    failure = `${path.split("?", 1)[0]} cannot be followed: ${message}`;
    stirred();
  }

  /** Objects of a kind that is not known there are none, until somebody makes it known. */
  async function untilServed(): Promise<void> {
    while (!signal.aborted) {
      try {
        if (await isServed(source, transport, signal)) return;
        if (!isListed || failures > 0) stirred();
        isListed = true;
        failures = 0;
        failure = undefined;
      } catch (error) {
        if (!signal.aborted) failed(messageOf(error));
      }
      await pause(clock, againMs, signal);
    }
  }

  const watch = (): Promise<void> =>
    watchResource<{ readonly found?: Found }>({
      transport,
      path,
      // What signs in somewhere ends here: of an object no more is kept than where its cluster is.
      project(object) {
        const one = find(object);
        return one === undefined ? {} : { found: one };
      },
      handler: {
        applied({ found: one }, key) {
          if (one === undefined) found.delete(fullNameOf(key));
          else found.set(fullNameOf(key), one);
          stirred();
        },
        deleted(key) {
          found.delete(fullNameOf(key));
          stirred();
        },
        restarted() {},
        note,
      },
      clock,
      random,
      signal,
    });
  const ended = untilServed().then(() => (signal.aborted ? undefined : watch()));
  return { found, isListed: () => isListed, failure: () => failure, ended };
}
