import type { ControllerName, Event } from "#core/event.ts";
import { type Clock, pause } from "#kube/follow/clock.ts";
import type { PlatformSign } from "#platforms/invoker.ts";

/** An invocation that the platform did not answer. */
export interface PlatformFailure extends Pick<Event, "controller" | "cluster" | "clusterHash"> {
  readonly sign: Extract<PlatformSign, "refuses" | "silent">;
  readonly code: string;
  readonly message: string;
  /** When it was sent. */
  readonly beganMs: number;
}

/** Whether the function platform works, for each function. */
export interface PlatformHealth {
  /** Returns whether a controller's events must bypass the platform for now. */
  isFailing(controller: ControllerName): boolean;
  failed(failure: PlatformFailure): void;
  answered(controller: ControllerName): void;
}

/** Reports that a function began to fail, or works again. */
export type PlatformNote =
  | { readonly kind: "failed"; readonly failure: PlatformFailure; readonly durationMs: number }
  | { readonly kind: "back"; readonly controller: ControllerName; readonly durationMs: number };

export interface PlatformHealthOptions {
  readonly clock: Clock;
  /** Returns the number of clusters: if there are several, the silence of one may be its own fault. */
  readonly clusters: () => number;
  /**
   * Invokes a failed function with a harmless event. Returns whether it answered as expected; never rejects.
   */
  readonly probe: (failure: PlatformFailure, signal: AbortSignal) => Promise<boolean>;
  readonly onChange: (note: PlatformNote) => void;
}

/** The health of a process's platform; `close` ends it. */
export interface ProcessPlatformHealth extends PlatformHealth {
  failing(): readonly ControllerName[];
  /** Stops probing; resolves when no probe is running. */
  close(): Promise<void>;
}

/**
 * A function counts as failing after this long without an answer, and this many failed invocations in a row.
 */
const FAILING_AFTER_MS = 30_000;
const FAILING_AFTER = 3;

/** Failures further apart than this do not count as a row. */
const FORGOTTEN_AFTER_MS = 5 * 60_000;

/**
 * The interval between probes, and how long all of them must succeed before the platform gets the work back.
 */
const PROBE_EVERY_MS = 15_000;
export const WELL_AFTER_MS = 5 * 60_000;

interface FailureStreak {
  readonly sinceMs: number;
  lastMs: number;
  count: number;
  hasRefused: boolean;
  readonly clusters: Set<string>;
}

/** Creates the health of a platform that works at first. */
export function createPlatformHealth(options: PlatformHealthOptions): ProcessPlatformHealth {
  const { clock } = options;
  const rows = new Map<ControllerName, FailureStreak>();
  const failing = new Map<ControllerName, Promise<void>>();
  /**
   * Controllers whose invocations fail in a way that concerns all functions; a throttle may concern one
   * function only.
   */
  const unreached = new Set<ControllerName>();
  const closing = new AbortController();

  function rowOf({ controller, beganMs }: PlatformFailure): FailureStreak {
    const known = rows.get(controller);
    if (known !== undefined && clock.now() - known.lastMs <= FORGOTTEN_AFTER_MS) return known;
    const row = {
      sinceMs: beganMs,
      lastMs: beganMs,
      count: 0,
      hasRefused: false,
      clusters: new Set<string>(),
    };
    rows.set(controller, row);
    return row;
  }

  function isEnough(
    { code }: PlatformFailure,
    { count, sinceMs, hasRefused, clusters }: FailureStreak,
  ): boolean {
    // A tenant that can keep its function busy must not affect the work of others.
    if (!hasRefused && clusters.size < Math.min(2, options.clusters())) return false;
    if (unreached.size > 0 && code !== "Throttled") return true;
    return count >= FAILING_AFTER && clock.now() - sinceMs >= FAILING_AFTER_MS;
  }

  async function probe(failure: PlatformFailure): Promise<void> {
    const { controller } = failure;
    const failedMs = clock.now();
    let wellMs: number | undefined;
    while (!closing.signal.aborted) {
      await pause(clock, PROBE_EVERY_MS, closing.signal);
      if (closing.signal.aborted) return;
      const isWell = await options.probe(failure, closing.signal);
      wellMs = isWell ? (wellMs ?? clock.now()) : undefined;
      if (wellMs === undefined || clock.now() - wellMs < WELL_AFTER_MS) continue;
      failing.delete(controller);
      unreached.delete(controller);
      options.onChange({ kind: "back", controller, durationMs: clock.now() - failedMs });
      return;
    }
  }

  return {
    isFailing: (controller) => failing.has(controller),
    failing: () => [...failing.keys()],
    answered: (controller) => void rows.delete(controller),
    failed(failure) {
      const { controller, code, sign, cluster } = failure;
      if (failing.has(controller) || closing.signal.aborted) return;
      const row = rowOf(failure);
      row.lastMs = clock.now();
      row.count += 1;
      row.hasRefused ||= sign === "refuses";
      if (row.clusters.size < 2) row.clusters.add(cluster);
      if (!isEnough(failure, row)) return;
      rows.delete(controller);
      if (code !== "Throttled") unreached.add(controller);
      failing.set(controller, probe(failure));
      options.onChange({ kind: "failed", failure, durationMs: clock.now() - row.sinceMs });
    },
    async close() {
      closing.abort();
      await Promise.all(failing.values());
    },
  };
}
