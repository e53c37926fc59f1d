import { isDeepStrictEqual } from "node:util";
import { StopSwitchError } from "#config/switch/error.ts";
import { stopLines, UNREAD } from "#config/switch/stop-lines.ts";
import { type StopEntry, stopIn } from "#config/switch/stops.ts";
import type { StopSwitch } from "#config/switch/switch.ts";
import { messageOf } from "#core/message-of.ts";
import { type Stop, tightest } from "#core/stop.ts";
import { type Clock, pause, systemClock } from "#kube/follow/clock.ts";

/** What is stopped, as it was read last. Plain data. */
export interface StopsRead {
  readonly stopped: readonly StopEntry[];
  /** Why it could not be read since; undefined where it could. */
  readonly unreadable?: { readonly code: string; readonly message: string } | undefined;
}

/** What is stopped, by whoever goes on reading it. */
export interface Stops {
  /** For a cluster: what is known, and `unproven` at the least where that cannot be read any more. */
  of(cluster: string): Stop | undefined;
  read(): StopsRead;
  /** Told whenever that becomes another; answers with how to end it. */
  onChange(listener: () => void): () => void;
}

/** What goes on reading. */
export interface StopsFollower extends Stops {
  /** Resolves when it was read, or could not be, for the first time. */
  readonly begun: Promise<void>;
}

export interface FollowStopsOptions {
  readonly stopSwitch: StopSwitch;
  /** Ends it. */
  readonly signal: AbortSignal;
  readonly log: (line: Readonly<Record<string, unknown>>) => void;
  readonly clock?: Clock;
  /** Uniform in [0, 1). */
  readonly random?: () => number;
}

const EVERY_MS = 5_000;
const TIMEOUT_MS = 4_000;

/** Nobody has looked for so long: the process slept, and knows nothing of now. */
const OLD_MS = 20_000;

const NOTHING_YET: StopsRead = {
  stopped: [],
  unreadable: { code: UNREAD, message: "it has not been read yet" },
};

/** Reads a switch every five seconds, until the signal fires. What was known goes on where it cannot be read. */
export function followStops(options: FollowStopsOptions): StopsFollower {
  const { stopSwitch, signal, log, clock = systemClock, random = Math.random } = options;
  const held = createStops(NOTHING_YET);
  let readMs = clock.now();
  let readAtMs = clock.wallTime().getTime();

  /** The monotonic clock stands still while a machine sleeps or is paused, the other does not. */
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
    of: (cluster) => tightest(held.of(cluster), isOld() ? "unproven" : undefined),
  };
}

/** What holds for a cluster by what was read. */
export function stopOf({ stopped, unreadable }: StopsRead, cluster: string): Stop | undefined {
  return tightest(stopIn(stopped, cluster), unreadable && "unproven");
}

/** What is stopped, as somebody else reads it and tells. */
export function createStops(first: StopsRead): Stops & { set(read: StopsRead): void } {
  const listeners = new Set<() => void>();
  let current = first;
  return {
    of: (cluster) => stopOf(current, cluster),
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

/** Reads all once; never rejects, and gives up when the signal fires, whatever the switch does. */
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

/** Reads with a request of the switch; where it fails, what was known goes on, or what of the switch could be read. */
export async function readWith<Read>(
  request: () => Promise<Read>,
  {
    name,
    known,
    signal,
  }: { readonly name: string; readonly known: readonly StopEntry[]; readonly signal: AbortSignal },
): Promise<Read | StopsRead> {
  try {
    return await Promise.race([request(), givenUp(signal)]);
  } catch (error) {
    const code = error instanceof StopSwitchError ? error.code : "Unreadable";
    const message =
      error instanceof StopSwitchError
        ? error.message
        : `the stop switch ${name} cannot be read: ${messageOf(error)}`;
    const stopped = (error instanceof StopSwitchError ? error.stopped : undefined) ?? known;
    return { stopped, unreadable: { code, message } };
  }
}

function givenUp(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const give = (): void => reject(new Error("no answer in time"));
    if (signal.aborted) give();
    else signal.addEventListener("abort", give, { once: true });
  });
}
