/** Calls `work` for each value, at most `limit` at a time; a value that is taken out of an iterable in between is not called for. */
export async function forEachBounded<Value>(
  values: Iterable<Value>,
  limit: number,
  work: (value: Value) => Promise<void>,
): Promise<void> {
  const iterator = values[Symbol.iterator]();
  const runner = async (): Promise<void> => {
    for (let next = iterator.next(); next.done !== true; next = iterator.next()) await work(next.value);
  };
  await Promise.all(Array.from({ length: limit }, runner));
}
