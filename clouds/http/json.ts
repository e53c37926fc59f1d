/** Parses JSON. Whole numbers that a double cannot represent stay text, because ids may have 64 bits. */
export function parseJson(text: string): unknown {
  // A reviver is several times slower, and few answers have a number that needs it.
  if (!/\d{16}/.test(text)) return JSON.parse(text);
  return JSON.parse(text, keepDigits as (key: string, value: unknown) => unknown);
}

/** Node passes the source of each primitive to a reviver; TypeScript's library does not declare it yet. */
function keepDigits(_key: string, value: unknown, context: { readonly source?: string }): unknown {
  if (typeof value !== "number" || Number.isSafeInteger(value)) return value;
  const source = context.source ?? "";
  return /^-?\d+$/.test(source) ? source : value;
}
