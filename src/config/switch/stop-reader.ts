import { readWith, selectStop } from "#config/switch/follow-stops.ts";
import { stopLines } from "#config/switch/stop-lines.ts";
import { type StopSwitch, StopSwitchError, type StopsRead } from "#config/switch/stops.ts";
import type { Stop } from "#core/stop.ts";

export interface StopReaderOptions {
  readonly stopSwitch: StopSwitch;
  /** Milliseconds since the epoch: wall time passes while a function is frozen. */
  readonly now: () => number;
  readonly log: (line: Readonly<Record<string, unknown>>) => void;
  /** Time limit of a read, in milliseconds. */
  readonly timeoutMs?: number;
  /** Whether the caller will ask for many clusters, so that the whole switch is read at any size. */
  readonly readsAll?: boolean;
}

/**
 * How long a read is valid for all clusters that it covers. Together with the read itself, a stop takes
 * effect within ten seconds.
 */
const GOOD_MS = 8_000;
/**
 * First delay before a failed read is retried; it grows with each failure, because many processes share the
 * account's quota.
 */
const FAILED_MS = 1_000;
const TIMEOUT_MS = 2_000;
const MAX_KEPT = 1_000;

/** The result of a read, for all clusters or for one. */
interface CachedStops {
  readonly read: StopsRead;
  readonly atMs: number;
  /** The number of the read: the clock may be set back between two reads. */
  readonly number: number;
  /** Consecutive failed reads. */
  readonly failures: number;
}

interface PendingRead {
  readonly read: Promise<void>;
  readonly startedMs: number;
  readonly number: number;
}

/** The key of a read for all clusters; no cluster has an empty name. */
const ALL = "";

/**
 * Creates the stop reader of a warm function. It reads on demand and caches for eight seconds. If one request
 * covers all clusters, it is not repeated for each cluster. Never rejects.
 */
export function createStopReader(options: StopReaderOptions): (cluster: string) => Promise<Stop | undefined> {
  const { stopSwitch, now, log, timeoutMs = TIMEOUT_MS, readsAll = false } = options;
  const kept = new Map<string, CachedStops>();
  const reading = new Map<string, PendingRead>();
  /** Whether the switch has more stops than one request returns. */
  let isLong = false;
  let reads = 0;

  /** Returns the newest read that covers a cluster. */
  function latestOf(cluster: string): CachedStops | undefined {
    const [all, own] = [kept.get(ALL), kept.get(cluster)];
    if (all === undefined || own === undefined) return own ?? all;
    return own.number > all.number ? own : all;
  }

  function readNow(cluster: string, startedMs: number): Promise<void> {
    // One read serves all clusters until each cluster is known to need its own request.
    const key = isLong ? cluster : ALL;
    const underWay = reading.get(key);
    // A read that an earlier invocation left frozen may return an old state.
    if (underWay !== undefined && isWithin(startedMs - underWay.startedMs, timeoutMs)) return underWay.read;
    reads += 1;
    const number = reads;
    const before = latestOf(cluster);
    const known = before?.read ?? NOTHING;
    const signal = AbortSignal.timeout(timeoutMs);
    const read = readWith(() => request(cluster, signal), {
      name: stopSwitch.name,
      known: known.stopped,
      signal,
    }).then((next) => {
      if (reading.get(key)?.number === number) reading.delete(key);
      // A later read has already replaced this one.
      if ((latestOf(cluster)?.number ?? 0) > number) return;
      if ("isAll" in next) isLong = !next.isAll;
      const isOfAll = "isAll" in next ? next.isAll : key === ALL;
      const failures = "isAll" in next ? 0 : (before?.failures ?? 0) + 1;
      const told: StopsRead = "isAll" in next ? { stopped: next.stopped } : next;
      for (const line of stopLines(stopSwitch.name, known, told)) log(isOfAll ? line : { cluster, ...line });
      kept.delete(isOfAll ? ALL : cluster);
      kept.set(isOfAll ? ALL : cluster, { read: told, atMs: startedMs, number, failures });
      for (const oldest of kept.keys()) {
        if (kept.size <= MAX_KEPT) break;
        kept.delete(oldest);
      }
    });
    reading.set(key, { read, startedMs, number });
    return read;
  }

  async function request(cluster: string, signal: AbortSignal) {
    const { readFor } = stopSwitch;
    if (!readsAll && readFor !== undefined) return readFor(cluster, signal);
    try {
      return { stopped: await stopSwitch.read(signal), isAll: true };
    } catch (error) {
      // The role of an earlier deployment may not read all stops, only those of one cluster.
      if (readFor === undefined || !(error instanceof StopSwitchError && error.isDenied)) throw error;
      return readFor(cluster, signal);
    }
  }

  function goodUntilMs({ atMs, failures }: CachedStops): number {
    return atMs + (failures === 0 ? GOOD_MS : Math.min(GOOD_MS, FAILED_MS * 2 ** (failures - 1)));
  }

  /** Returns the read that covers a cluster, if it is still valid. */
  function goodFor(cluster: string, nowMs: number): StopsRead | undefined {
    const last = latestOf(cluster);
    // If the clock was set back, the age of the read is unknown.
    return last !== undefined && nowMs >= last.atMs && nowMs < goodUntilMs(last) ? last.read : undefined;
  }

  return async (cluster) => {
    const nowMs = now();
    const good = goodFor(cluster, nowMs);
    if (good !== undefined) return selectStop(good, cluster);
    await readNow(cluster, nowMs);
    // A read started for another cluster may cover only that one.
    if (goodFor(cluster, now()) === undefined) await readNow(cluster, now());
    return selectStop(latestOf(cluster)?.read ?? UNKNOWN, cluster);
  };
}

const NOTHING: StopsRead = { stopped: [] };

/** The state before the first successful read. */
const UNKNOWN: StopsRead = {
  stopped: [],
  unreadable: { code: "Unreadable", message: "what is stopped was not read in time" },
};

/** Whether a time since a moment is within a limit; a negative one shows that the clock was set back. */
function isWithin(elapsedMs: number, limitMs: number): boolean {
  return elapsedMs >= 0 && elapsedMs < limitMs;
}
