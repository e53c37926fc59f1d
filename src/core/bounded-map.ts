/** Sets a key as the newest of a map, and drops the oldest keys beyond `limit`. Returns the dropped values. */
export function setNewest<Key, Value>(map: Map<Key, Value>, key: Key, value: Value, limit: number): Value[] {
  // A Map keeps the order of insertion.
  map.delete(key);
  map.set(key, value);
  const dropped: Value[] = [];
  for (const [oldest, each] of map) {
    if (map.size <= limit) break;
    map.delete(oldest);
    dropped.push(each);
  }
  return dropped;
}

/** A map whose values expire. */
export interface ExpiringMap<Key, Value> {
  has(key: Key): boolean;
  set(key: Key, value: Value): void;
  delete(key: Key): void;
  /** Returns the values that have not expired, oldest first. */
  values(): Value[];
}

/** The bounds of an expiring map; `now` is a monotonic clock in milliseconds. */
export interface ExpiringMapOptions {
  readonly ttlMs: number;
  /** Beyond this number, a new value drops the oldest one. */
  readonly limit: number;
  readonly now: () => number;
}

export function createExpiringMap<Key, Value>({
  ttlMs,
  limit,
  now,
}: ExpiringMapOptions): ExpiringMap<Key, Value> {
  const entries = new Map<Key, { readonly value: Value; readonly untilMs: number }>();
  return {
    has: (key) => (entries.get(key)?.untilMs ?? Number.NEGATIVE_INFINITY) > now(),
    set: (key, value) => void setNewest(entries, key, { value, untilMs: now() + ttlMs }, limit),
    delete: (key) => void entries.delete(key),
    values() {
      const nowMs = now();
      for (const [key, { untilMs }] of entries) if (untilMs <= nowMs) entries.delete(key);
      return [...entries.values()].map(({ value }) => value);
    },
  };
}
