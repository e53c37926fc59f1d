import type { Cluster } from "#config/cluster.ts";
import { type Clock, systemClock } from "#kube/follow/clock.ts";

/** What is made once for a cluster and used again, such as a connection; at most so many as clusters have keys. */
export interface KeptPerCluster<Value> {
  /** The cluster's value under the key, made if there is none for its entry as it is now. One whose making failed is not kept. */
  get(cluster: Cluster, key: string, make: () => Promise<Value>): Promise<Value>;
  /** Discards all of a cluster, whoever may be using it. */
  forget(name: string): Promise<void>;
  /** Discards everything. */
  close(): Promise<void>;
}

export interface KeptPerClusterOptions<Value> {
  readonly discard: (value: Value) => Promise<void>;
  /** What nobody has asked for in so long is discarded; longer than anybody uses what he was given. */
  readonly idleMs: number;
  readonly clock?: Clock;
}

interface Kept<Value> {
  readonly value: Promise<Value>;
  usedMs: number;
}

/**
 * Keeps values for the clusters of a process. Unlike in a function, which has one invocation at a time, none is discarded for being one
 * too many: somebody may be using it. Those of clusters that are idle go by themselves.
 */
export function createKeptPerCluster<Value>(options: KeptPerClusterOptions<Value>): KeptPerCluster<Value> {
  const { idleMs, clock = systemClock } = options;
  const byCluster = new Map<string, Map<string, Kept<Value>>>();
  let cancel: (() => void) | undefined;

  async function discard({ value }: Kept<Value>): Promise<void> {
    // What cannot be made, or closed any more, is gone already.
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
      // A changed entry may be another server, or another identity.
      const key = `${cluster.hash} ${name}`;
      const kept = byCluster.get(cluster.name) ?? new Map<string, Kept<Value>>();
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
