/** Nothing longer is read as JSON: what a tenant writes costs little. */
const MAX_JSON_CHARACTERS = 32_768;

/** The value that a text is as JSON; undefined where it is none. */
export function jsonOf(written: string): unknown {
  if (written.length > MAX_JSON_CHARACTERS) return undefined;
  try {
    return JSON.parse(written);
  } catch {
    return undefined;
  }
}
