/** Parses JSON, leaving whole numbers that a double cannot hold as the text of their digits: ids may have 64 bits. */
export function parseJson(text: string): unknown {
  // A reviver makes this several times as slow, and hardly any answer holds a number that needs it.
  if (!/\d{16}/.test(text)) return JSON.parse(text);
  return JSON.parse(text, keepDigits as (key: string, value: unknown) => unknown);
}

/** Node hands a reviver the source of each primitive, which TypeScript's library does not know yet. */
function keepDigits(_key: string, value: unknown, context: { readonly source?: string }): unknown {
  if (typeof value !== "number" || Number.isSafeInteger(value)) return value;
  const source = context.source ?? "";
  return /^-?\d+$/.test(source) ? source : value;
}
