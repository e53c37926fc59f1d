/** The ids of one call, each with the look-ups that want it. */
export type CallIds<LookUp> = Map<string, LookUp[]>;

/** Look-ups that wait for a call, by cluster. */
export interface LookUpQueue<Cluster, LookUp> {
  isEmpty(): boolean;
  /** Appends a look-up, or returns false if too many ids of this cluster wait. */
  add(cluster: Cluster, lookUp: LookUp, ids: Iterable<string>): boolean;
  remove(cluster: Cluster, lookUp: LookUp): void;
  /** Takes the ids of the next call. */
  take(): CallIds<LookUp>;
  /** Takes all ids. */
  takeAll(): CallIds<LookUp>;
  /** Takes the ids of look-ups that wait for longer than `maxWaitMs`. */
  takeOverdue(): CallIds<LookUp>;
}

export interface LookUpQueueOptions {
  /** Maximum number of ids per call. */
  readonly maxIds: number;
  /** Maximum number of ids of one cluster that wait. */
  readonly maxWaiting: number;
  readonly maxWaitMs: number;
  /** A monotonic clock in milliseconds. */
  readonly now: () => number;
}

/** The ids of one look-up that are in no call yet. */
interface WaitingIds {
  readonly ids: Set<string>;
  readonly sinceMs: number;
}

/**
 * Creates an empty queue. A call takes the ids of the cluster that waits longest, then those of clusters that
 * want no more than their fair part. The rest of it is for the others by age. While several clusters wait, one
 * gets at most half of a call, and then comes after all others.
 */
export function createLookUpQueue<Cluster, LookUp>({
  maxIds,
  maxWaiting,
  maxWaitMs,
  now,
}: LookUpQueueOptions): LookUpQueue<Cluster, LookUp> {
  /** In the order of their turns. */
  const waiting = new Map<Cluster, Map<LookUp, WaitingIds>>();

  function countIds(cluster: Cluster): number {
    return [...(waiting.get(cluster)?.values() ?? [])].reduce((sum, { ids }) => sum + ids.size, 0);
  }

  function remove(cluster: Cluster, lookUp: LookUp): void {
    const lookUps = waiting.get(cluster);
    lookUps?.delete(lookUp);
    if (lookUps?.size === 0) waiting.delete(cluster);
  }

  /** Moves up to `limit` ids of a cluster, the oldest first. */
  function move(cluster: Cluster, call: CallIds<LookUp>, limit: number): void {
    let left = limit;
    for (const [lookUp, { ids }] of waiting.get(cluster) ?? []) {
      for (const id of [...ids].slice(0, left)) {
        ids.delete(id);
        call.set(id, [...(call.get(id) ?? []), lookUp]);
        left -= 1;
      }
      if (ids.size === 0) remove(cluster, lookUp);
      if (left === 0) return;
    }
  }

  function takeAll(isTaken: (waits: WaitingIds) => boolean): CallIds<LookUp> {
    const call: CallIds<LookUp> = new Map();
    for (const [cluster, lookUps] of [...waiting])
      for (const [lookUp, waits] of [...lookUps]) {
        if (!isTaken(waits)) continue;
        for (const id of waits.ids) call.set(id, [...(call.get(id) ?? []), lookUp]);
        remove(cluster, lookUp);
      }
    return call;
  }

  return {
    isEmpty: () => waiting.size === 0,
    add(cluster, lookUp, ids) {
      const added = new Set(ids);
      if (countIds(cluster) + added.size > maxWaiting) return false;
      const lookUps = waiting.get(cluster) ?? new Map<LookUp, WaitingIds>();
      waiting.set(cluster, lookUps);
      lookUps.set(lookUp, { ids: added, sinceMs: now() });
      return true;
    },
    remove,
    take() {
      const call: CallIds<LookUp> = new Map();
      const [oldest, ...others] = waiting.keys();
      if (oldest === undefined) return call;
      const fairPart = maxIds / waiting.size;
      const limit = others.length === 0 ? maxIds : maxIds / 2;
      const { small = [], large = [] } = Object.groupBy(others, (cluster) =>
        countIds(cluster) <= fairPart ? "small" : "large",
      );
      for (const cluster of [oldest, ...small, ...large]) {
        if (call.size >= maxIds) break;
        move(cluster, call, Math.min(limit, maxIds - call.size));
        const left = waiting.get(cluster);
        if (left === undefined) continue;
        waiting.delete(cluster);
        waiting.set(cluster, left);
      }
      return call;
    },
    takeAll: () => takeAll(() => true),
    takeOverdue: () => takeAll(({ sinceMs }) => now() - sinceMs > maxWaitMs),
  };
}
