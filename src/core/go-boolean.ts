/**
 * Parses a text as a Go boolean, as stock controllers parse annotations and labels; undefined if it is
 * invalid.
 */
export function parseGoBoolean(text: string): boolean | undefined {
  if (TRUE.has(text)) return true;
  return FALSE.has(text) ? false : undefined;
}

const TRUE: ReadonlySet<string> = new Set(["1", "t", "T", "TRUE", "true", "True"]);
const FALSE: ReadonlySet<string> = new Set(["0", "f", "F", "FALSE", "false", "False"]);
