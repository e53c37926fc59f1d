import type { Cluster } from "#config/cluster.ts";
import { type Clock, systemClock } from "#kube/follow/clock.ts";

/**
 * Caches what is created once for a cluster, such as a connection. It holds at most one value for each
 * cluster and key.
 */
export interface ClusterCache<Value> {
  /**
   * Returns the cluster's value under the key, created if its current entry has none. A failed creation is
   * not cached.
   */
  get(cluster: Cluster, key: string, make: () => Promise<Value>): Promise<Value>;
  /** Discards all values of a cluster, even if they are in use. */
  forget(name: string): Promise<void>;
  /** Discards all values. */
  close(): Promise<void>;
}

export interface ClusterCacheOptions<Value> {
  readonly discard: (value: Value) => Promise<void>;
  /** A value that was not requested for this long is discarded; longer than any caller uses it. */
  readonly idleMs: number;
  readonly clock?: Clock;
}

interface CacheEntry<Value> {
  readonly value: Promise<Value>;
  usedMs: number;
}

/**
 * Creates a cache for the clusters of a process. A function has one invocation at a time, but here values may
 * be in use: none is discarded because there are too many. Idle ones expire.
 */
export function createKeptPerCluster<Value>(options: ClusterCacheOptions<Value>): ClusterCache<Value> {
  const { idleMs, clock = systemClock } = options;
  const byCluster = new Map<string, Map<string, CacheEntry<Value>>>();
  let cancel: (() => void) | undefined;

  async function discard({ value }: CacheEntry<Value>): Promise<void> {
    // A value that cannot be created, or closed any more, is already gone.
    await value.then(options.discard).catch(() => undefined);
  }

  function look(): void {
    const oldestMs = clock.now() - idleMs;
    for (const [name, kept] of byCluster) {
      for (const [key, each] of kept) {
        if (each.usedMs > oldestMs) continue;
        kept.delete(key);
        void discard(each);
      }
      if (kept.size === 0) byCluster.delete(name);
    }
    cancel = byCluster.size === 0 ? undefined : clock.after(idleMs / 2, look);
  }

  return {
    get(cluster, name, make) {
      // A changed entry may mean another server or another identity.
      const key = `${cluster.hash} ${name}`;
      const kept = byCluster.get(cluster.name) ?? new Map<string, CacheEntry<Value>>();
      byCluster.set(cluster.name, kept);
      cancel ??= clock.after(idleMs / 2, look);
      const known = kept.get(key);
      if (known !== undefined) {
        known.usedMs = clock.now();
        return known.value;
      }
      const made = { value: make(), usedMs: clock.now() };
      kept.set(key, made);
      made.value.catch(() => {
        if (kept.get(key) === made) kept.delete(key);
      });
      return made.value;
    },
    async forget(name) {
      const kept = byCluster.get(name);
      byCluster.delete(name);
      await Promise.all([...(kept?.values() ?? [])].map(discard));
    },
    async close() {
      cancel?.();
      const all = [...byCluster.values()].flatMap((kept) => [...kept.values()]);
      byCluster.clear();
      await Promise.all(all.map(discard));
    },
  };
}
