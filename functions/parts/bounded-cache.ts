/** A cache of the `limit` last used values by key; `discard` receives each evicted value. */
export interface BoundedCache<Value> {
  /** Returns the value of the key, created on first use. A failed creation is not cached. */
  get(key: string, make: () => Promise<Value>): Promise<Value>;
}

/** Creates a cache for what a warm function keeps, such as connections and clouds. */
export function createBoundedCache<Value>(
  limit: number,
  discard: (value: Value) => Promise<void>,
): BoundedCache<Value> {
  // A Map keeps insertion order, so its first key is the least recently used.
  const values = new Map<string, Promise<Value>>();
  return {
    get(key, make) {
      const value = values.get(key) ?? make();
      values.delete(key);
      values.set(key, value);
      value.catch(() => {
        if (values.get(key) === value) values.delete(key);
      });
      for (const [oldestKey, oldest] of values) {
        if (values.size <= limit) break;
        values.delete(oldestKey);
        // A value that cannot be closed is already closed.
        oldest.then(discard).catch(() => undefined);
      }
      return value;
    },
  };
}
