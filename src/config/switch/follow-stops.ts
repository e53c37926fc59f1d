import { isDeepStrictEqual } from "node:util";
import { stopLines, UNREAD } from "#config/switch/stop-lines.ts";
import {
  type StopEntry,
  type StopSwitch,
  StopSwitchError,
  type StopsRead,
  stopIn,
} from "#config/switch/stops.ts";
import { getErrorMessage } from "#core/sanitize-text.ts";
import { type Stop, selectTightestStop } from "#core/stop.ts";
import { type Clock, pause, systemClock } from "#kube/follow/clock.ts";

/** The stops in force, as their reader knows them. */
export interface Stops {
  /**
   * Returns the stop of a cluster: the last known one, and at least `unproven` while the switch is
   * unreadable.
   */
  get(cluster: string): Stop | undefined;
  read(): StopsRead;
  /** Calls the listener on every change; returns a function that removes it. */
  onChange(listener: () => void): () => void;
}

/** A reader that follows the stop switch. */
export interface StopsFollower extends Stops {
  /** Resolves after the first read, successful or not. */
  readonly begun: Promise<void>;
}

export interface FollowStopsOptions {
  readonly stopSwitch: StopSwitch;
  /** Ends following. */
  readonly signal: AbortSignal;
  readonly log: (line: Readonly<Record<string, unknown>>) => void;
  readonly clock?: Clock;
  /** Uniform in [0, 1). */
  readonly random?: () => number;
}

const EVERY_MS = 5_000;
const TIMEOUT_MS = 4_000;

/** After this time without a read, the process slept and its knowledge is stale. */
const OLD_MS = 20_000;

const NOTHING_YET: StopsRead = {
  stopped: [],
  unreadable: { code: UNREAD, message: "it has not been read yet" },
};

/**
 * Reads a stop switch every five seconds until the signal fires. While it is unreadable, the last known stops
 * stay in force.
 */
export function followStops(options: FollowStopsOptions): StopsFollower {
  const { stopSwitch, signal, log, clock = systemClock, random = Math.random } = options;
  const held = createStops(NOTHING_YET);
  let readMs = clock.now();
  let readAtMs = clock.wallTime().getTime();

  /** The monotonic clock stops while a machine sleeps or is paused; the wall clock does not. */
  function isOld(): boolean {
    const wallMs = clock.wallTime().getTime() - readAtMs;
    return clock.now() - readMs > OLD_MS || Math.abs(wallMs) > OLD_MS;
  }

  async function look(): Promise<void> {
    const limit = new AbortController();
    const cancel = clock.after(TIMEOUT_MS, () => limit.abort());
    const before = held.read();
    const next = await readStops(stopSwitch, before.stopped, AbortSignal.any([signal, limit.signal]));
    cancel();
    if (signal.aborted) return;
    readMs = clock.now();
    readAtMs = clock.wallTime().getTime();
    if (isDeepStrictEqual(before, next)) return;
    for (const line of stopLines(stopSwitch.name, before, next)) log(line);
    held.set(next);
  }

  async function lookForEver(first: () => void): Promise<void> {
    while (!signal.aborted) {
      await look();
      first();
      await pause(clock, EVERY_MS * (0.8 + 0.2 * random()), signal);
    }
  }

  const begun = new Promise<void>((resolve) => void lookForEver(resolve));
  return {
    ...held,
    begun,
    get: (cluster) => selectTightestStop(held.get(cluster), isOld() ? "unproven" : undefined),
  };
}

/** Returns the stop of a cluster for the state read. */
export function selectStop({ stopped, unreadable }: StopsRead, cluster: string): Stop | undefined {
  return selectTightestStop(stopIn(stopped, cluster), unreadable && "unproven");
}

/** Creates stops that another thread reads and passes on. */
export function createStops(first: StopsRead): Stops & { set(read: StopsRead): void } {
  const listeners = new Set<() => void>();
  let current = first;
  return {
    get: (cluster) => selectStop(current, cluster),
    read: () => current,
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    set(read) {
      current = read;
      for (const listener of listeners) listener();
    },
  };
}

/** Reads all stops once. Never rejects, and ends when the signal fires, even if the switch hangs. */
export function readStops(
  stopSwitch: StopSwitch,
  known: readonly StopEntry[],
  signal: AbortSignal,
): Promise<StopsRead> {
  return readWith(async () => ({ stopped: await stopSwitch.read(signal) }), {
    name: stopSwitch.name,
    known,
    signal,
  });
}

/**
 * Reads with one request of the switch. If it fails, the last known stops stay in force, or the readable part
 * of the switch.
 */
export async function readWith<Read>(
  request: () => Promise<Read>,
  {
    name,
    known,
    signal,
  }: { readonly name: string; readonly known: readonly StopEntry[]; readonly signal: AbortSignal },
): Promise<Read | StopsRead> {
  try {
    return await Promise.race([request(), rejectOnAbort(signal)]);
  } catch (error) {
    const code = error instanceof StopSwitchError ? error.code : "Unreadable";
    const message =
      error instanceof StopSwitchError
        ? error.message
        : `the stop switch ${name} cannot be read: ${getErrorMessage(error)}`;
    const stopped = (error instanceof StopSwitchError ? error.stopped : undefined) ?? known;
    return { stopped, unreadable: { code, message } };
  }
}

function rejectOnAbort(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const give = (): void => reject(new Error("no answer in time"));
    if (signal.aborted) give();
    else signal.addEventListener("abort", give, { once: true });
  });
}
