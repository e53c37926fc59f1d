import { readStops, type StopsRead, stopOf } from "#config/switch/follow-stops.ts";
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
}

/** What was read is good for so long, of a cluster; what could not be read is tried again sooner. */
const GOOD_MS = 5_000;
const FAILED_MS = 1_000;
const TIMEOUT_MS = 2_000;
const MAX_KEPT = 1_000;

interface Kept {
  readonly read: StopsRead;
  readonly atMs: number;
}

interface Reading {
  readonly read: Promise<StopsRead>;
  readonly startedMs: number;
}

/** What is stopped for a cluster as a warm function looks at it: read when it is asked for, and kept for five seconds. Never rejects. */
export function createStopLook(options: StopLookOptions): (cluster: string) => Promise<Stop | undefined> {
  const { stopSwitch, now, log, timeoutMs = TIMEOUT_MS } = options;
  const kept = new Map<string, Kept>();
  const reading = new Map<string, Reading>();

  function readNow(cluster: string, startedMs: number): Promise<StopsRead> {
    const underWay = reading.get(cluster);
    // One that an earlier invocation left behind, frozen, may bring what held then.
    if (underWay !== undefined && startedMs - underWay.startedMs < timeoutMs) return underWay.read;
    const known = kept.get(cluster)?.read ?? NOTHING;
    const read = readStops(stopSwitch, known.stopped, AbortSignal.timeout(timeoutMs), cluster).then(
      (next) => {
        if (reading.get(cluster)?.startedMs === startedMs) reading.delete(cluster);
        // What was overtaken by a later one tells nothing new.
        const latest = kept.get(cluster);
        if (latest !== undefined && latest.atMs > startedMs) return latest.read;
        for (const line of stopLines(stopSwitch.name, known, next)) log({ cluster, ...line });
        kept.delete(cluster);
        kept.set(cluster, { read: next, atMs: startedMs });
        for (const oldest of kept.keys()) {
          if (kept.size <= MAX_KEPT) break;
          kept.delete(oldest);
        }
        return next;
      },
    );
    reading.set(cluster, { read, startedMs });
    return read;
  }

  return async (cluster) => {
    const nowMs = now();
    const last = kept.get(cluster);
    const goodMs = last?.read.unreadable === undefined ? GOOD_MS : FAILED_MS;
    const isGood = last !== undefined && nowMs >= last.atMs && nowMs - last.atMs < goodMs;
    return stopOf(isGood ? last.read : await readNow(cluster, nowMs), cluster);
  };
}

const NOTHING: StopsRead = { stopped: [] };
