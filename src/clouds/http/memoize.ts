/** Returns a function that calls `read` once, and returns that result to all callers. */
export function memoize<Args extends readonly unknown[], Value>(
  read: (...args: Args) => Value,
): (...args: Args) => Value {
  let called: { readonly value: Value } | undefined;
  return (...args) => {
    called ??= { value: read(...args) };
    return called.value;
  };
}

/** Returns a function that calls `read` once for each key; its other arguments are those of the first call. */
export function memoizeByKey<Key, Rest extends readonly unknown[], Value>(
  read: (key: Key, ...rest: Rest) => Value,
): (key: Key, ...rest: Rest) => Value {
  const values = new Map<Key, { readonly value: Value }>();
  return (key, ...rest) => {
    const known = values.get(key) ?? { value: read(key, ...rest) };
    values.set(key, known);
    return known.value;
  };
}
