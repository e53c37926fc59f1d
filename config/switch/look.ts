import { StopSwitchError } from "#config/switch/error.ts";
import { readWith, type StopsRead, stopOf } from "#config/switch/follow-stops.ts";
import { stopLines } from "#config/switch/stop-lines.ts";
import type { StopSwitch } from "#config/switch/switch.ts";
import type { Stop } from "#core/stop.ts";

export interface StopLookOptions {
  readonly stopSwitch: StopSwitch;
  /** Milliseconds since the epoch: time goes on while a function is frozen. */
  readonly now: () => number;
  readonly log: (line: Readonly<Record<string, unknown>>) => void;
  /** Milliseconds after which a read is given up. */
  readonly timeoutMs?: number;
  /** Whether it is about to be asked for many clusters, and reads all that is stopped, however much that is. */
  readonly readsAll?: boolean;
}

/** What was read is good for so long, for all clusters that it tells of: with the read itself, what is stopped holds within ten seconds. */
const GOOD_MS = 8_000;
/** What could not be read is tried again sooner, and each time that it fails less so: many processes ask the same account. */
const FAILED_MS = 1_000;
const TIMEOUT_MS = 2_000;
const MAX_KEPT = 1_000;

/** What a read told; of all clusters, or of the one that was asked for. */
interface Kept {
  readonly read: StopsRead;
  readonly atMs: number;
  /** How many reads in a row have failed by now. */
  readonly failures: number;
}

interface Reading {
  readonly read: Promise<void>;
  readonly startedMs: number;
}

/** Under this key is what was read of all clusters; no cluster has an empty name. */
const ALL = "";

/**
 * What is stopped for a cluster as a warm function looks at it: read when it is asked for, and kept for eight seconds. Where one request
 * tells of all clusters, it is not repeated for each of them. Never rejects.
 */
export function createStopLook(options: StopLookOptions): (cluster: string) => Promise<Stop | undefined> {
  const { stopSwitch, now, log, timeoutMs = TIMEOUT_MS, readsAll = false } = options;
  const kept = new Map<string, Kept>();
  const reading = new Map<string, Reading>();
  /** More is stopped than one request tells. */
  let isLong = false;

  /** The newest of what was read that tells of a cluster. */
  function latestOf(cluster: string): Kept | undefined {
    const [all, own] = [kept.get(ALL), kept.get(cluster)];
    if (all === undefined || own === undefined) return own ?? all;
    return own.atMs > all.atMs ? own : all;
  }

  function readNow(cluster: string, startedMs: number): Promise<void> {
    // Until it is known to take a request for each cluster, one serves for all.
    const key = isLong ? cluster : ALL;
    const underWay = reading.get(key);
    // One that an earlier invocation left behind, frozen, may bring what held then.
    if (underWay !== undefined && startedMs - underWay.startedMs < timeoutMs) return underWay.read;
    const before = latestOf(cluster);
    const known = before?.read ?? NOTHING;
    const signal = AbortSignal.timeout(timeoutMs);
    const read = readWith(() => request(cluster, signal), {
      name: stopSwitch.name,
      known: known.stopped,
      signal,
    }).then((next) => {
      if (reading.get(key)?.startedMs === startedMs) reading.delete(key);
      // What was overtaken by a later one tells nothing new.
      if ((latestOf(cluster)?.atMs ?? startedMs) > startedMs) return;
      if ("isAll" in next) isLong = !next.isAll;
      const isOfAll = "isAll" in next ? next.isAll : key === ALL;
      const failures = "isAll" in next ? 0 : (before?.failures ?? 0) + 1;
      const told: StopsRead = "isAll" in next ? { stopped: next.stopped } : next;
      for (const line of stopLines(stopSwitch.name, known, told)) log(isOfAll ? line : { cluster, ...line });
      kept.delete(isOfAll ? ALL : cluster);
      kept.set(isOfAll ? ALL : cluster, { read: told, atMs: startedMs, failures });
      for (const oldest of kept.keys()) {
        if (kept.size <= MAX_KEPT) break;
        kept.delete(oldest);
      }
    });
    reading.set(key, { read, startedMs });
    return read;
  }

  async function request(cluster: string, signal: AbortSignal) {
    const { readFor } = stopSwitch;
    if (!readsAll && readFor !== undefined) return readFor(cluster, signal);
    try {
      return { stopped: await stopSwitch.read(signal), isAll: true };
    } catch (error) {
      // In an earlier deployment's role a function may not read all: what holds for each cluster it may.
      if (readFor === undefined || !(error instanceof StopSwitchError && error.isDenied)) throw error;
      return readFor(cluster, signal);
    }
  }

  function goodUntilMs({ atMs, failures }: Kept): number {
    return atMs + (failures === 0 ? GOOD_MS : Math.min(GOOD_MS, FAILED_MS * 2 ** (failures - 1)));
  }

  /** What was read of a cluster, where that is still good. */
  function goodFor(cluster: string, nowMs: number): StopsRead | undefined {
    const last = latestOf(cluster);
    // Where the clock was set back, how old it is cannot be told.
    return last !== undefined && nowMs >= last.atMs && nowMs < goodUntilMs(last) ? last.read : undefined;
  }

  return async (cluster) => {
    const nowMs = now();
    const good = goodFor(cluster, nowMs);
    if (good !== undefined) return stopOf(good, cluster);
    await readNow(cluster, nowMs);
    // A read that another cluster had begun may have told of that one alone.
    if (goodFor(cluster, now()) === undefined) await readNow(cluster, now());
    return stopOf(latestOf(cluster)?.read ?? UNKNOWN, cluster);
  };
}

const NOTHING: StopsRead = { stopped: [] };

/** Nothing was read of it, whatever came between. */
const UNKNOWN: StopsRead = {
  stopped: [],
  unreadable: { code: "Unreadable", message: "what is stopped was not read in time" },
};
