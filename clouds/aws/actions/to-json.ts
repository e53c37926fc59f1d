/** Converts an answer of AWS to JSON: without the SDK's `$metadata`, dates, and undefined fields. */
export function toJson<Answer extends object>(answer: Answer): Omit<Answer, "$metadata"> {
  const { $metadata: _, ...rest } = answer as Answer & { readonly $metadata?: unknown };
  return toPlainValue(rest) as Omit<Answer, "$metadata">;
}

function toPlainValue(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(toPlainValue);
  if (value === null || typeof value !== "object") return value;
  const entries = Object.entries(value).filter(([, each]) => each !== undefined && !(each instanceof Date));
  return Object.fromEntries(entries.map(([key, each]) => [key, toPlainValue(each)]));
}
