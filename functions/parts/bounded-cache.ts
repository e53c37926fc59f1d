/** Values by key, of which only the `limit` last used are kept; one that fell out is given to `discard`. */
export interface BoundedCache<Value> {
  /** The value under the key, made if there is none. One whose making failed is not kept. */
  get(key: string, make: () => Promise<Value>): Promise<Value>;
}

/** A cache for what a warm function keeps: connections and clouds. */
export function createBoundedCache<Value>(
  limit: number,
  discard: (value: Value) => Promise<void>,
): BoundedCache<Value> {
  // A Map remembers the order of insertion, so its first key is the one that was not used for the longest time.
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
        // What cannot be closed any more is gone already.
        oldest.then(discard).catch(() => undefined);
      }
      return value;
    },
  };
}
