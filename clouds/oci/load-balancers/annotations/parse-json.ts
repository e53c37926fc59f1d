/** Maximum length of JSON, so that a tenant's text is cheap to read. */
const MAX_JSON_CHARACTERS = 32_768;

/** Parses JSON; undefined if the text is invalid. */
export function parseJson(written: string): unknown {
  if (written.length > MAX_JSON_CHARACTERS) return undefined;
  try {
    return JSON.parse(written);
  } catch {
    return undefined;
  }
}
