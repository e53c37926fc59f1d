/** Removes duplicates and splits values into chunks of at most `size`, such as what fits one request. */
export function splitIntoChunks<Value>(values: Iterable<Value>, size: number): Value[][] {
  const unique = [...new Set(values)];
  return Array.from({ length: Math.ceil(unique.length / size) }, (_, index) =>
    unique.slice(index * size, (index + 1) * size),
  );
}
