import type { Clock } from "#kube/follow/clock.ts";
import { pause } from "#kube/follow/clock.ts";
import { mergeTouched, type TouchedObjects } from "#sweep/touched.ts";

/** Looks at one cluster's touched objects; never rejects. */
export type Look<Result> = (cluster: string, touched: TouchedObjects) => Promise<Result>;

/**
 * Bounds the looks at each cluster: one in progress and one waiting, whose objects grow with each report, and
 * at most one a second. A flood for one cluster costs that cluster a look a second, and others nothing.
 */
export interface LookQueue<Result> {
  /** Whether another report of this cluster is rejected. It does not read the report. */
  isFull(cluster: string): boolean;
  /** Adds a report; resolves when its objects were looked at. */
  add(cluster: string, touched: TouchedObjects): Promise<Result>;
}

/** From one look at a cluster to the next. */
const EVERY_MS = 1_000;

/** Reports that wait for the same look. */
const MAX_REPORTS = 32;

/** Clusters with looks at the same time. */
const MAX_CLUSTERS = 256;

interface ClusterLooks<Result> {
  startedMs: number;
  running: Promise<Result> | undefined;
  waiting: { touched: TouchedObjects; reports: number; readonly look: Promise<Result> } | undefined;
}

/** Creates the queue of a process. */
export function createLookQueue<Result>(look: Look<Result>, clock: Clock): LookQueue<Result> {
  const clusters = new Map<string, ClusterLooks<Result>>();

  function forgetIdle(): void {
    for (const [name, { running, waiting, startedMs }] of clusters)
      if (running === undefined && waiting === undefined && clock.now() - startedMs >= EVERY_MS)
        clusters.delete(name);
  }

  function start(cluster: string, state: ClusterLooks<Result>, touched: TouchedObjects): Promise<Result> {
    state.startedMs = clock.now();
    const running = look(cluster, touched).finally(() => {
      state.running = undefined;
    });
    state.running = running;
    return running;
  }

  async function startNext(cluster: string, state: ClusterLooks<Result>): Promise<Result> {
    await state.running?.catch(() => undefined);
    const waitMs = state.startedMs + EVERY_MS - clock.now();
    if (waitMs > 0) await pause(clock, waitMs, new AbortController().signal);
    const touched = state.waiting?.touched ?? new Map();
    state.waiting = undefined;
    return start(cluster, state, touched);
  }

  return {
    isFull(cluster) {
      if (clusters.size >= MAX_CLUSTERS) forgetIdle();
      const state = clusters.get(cluster);
      return state === undefined
        ? clusters.size >= MAX_CLUSTERS
        : (state.waiting?.reports ?? 0) >= MAX_REPORTS;
    },
    add(cluster, touched) {
      const state = clusters.get(cluster) ?? {
        startedMs: Number.NEGATIVE_INFINITY,
        running: undefined,
        waiting: undefined,
      };
      clusters.set(cluster, state);
      if (state.waiting !== undefined) {
        state.waiting.touched = mergeTouched(state.waiting.touched, touched);
        state.waiting.reports += 1;
        return state.waiting.look;
      }
      const isIdle = state.running === undefined && clock.now() - state.startedMs >= EVERY_MS;
      if (isIdle) return start(cluster, state, touched);
      // Asynchronous: the state is complete before it continues.
      const next = Promise.resolve().then(() => startNext(cluster, state));
      state.waiting = { touched, reports: 1, look: next };
      return next;
    },
  };
}
