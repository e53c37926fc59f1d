/** What AWS answered as JSON: without the SDK's `$metadata`, without dates, and without what is undefined. */
export function jsonOf<Answer extends object>(answer: Answer): Omit<Answer, "$metadata"> {
  const { $metadata: _, ...rest } = answer as Answer & { readonly $metadata?: unknown };
  return plain(rest) as Omit<Answer, "$metadata">;
}

function plain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plain);
  if (value === null || typeof value !== "object") return value;
  const entries = Object.entries(value).filter(([, each]) => each !== undefined && !(each instanceof Date));
  return Object.fromEntries(entries.map(([key, each]) => [key, plain(each)]));
}
