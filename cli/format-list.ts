/**
 * Formats at most this many words and the number of further ones: `a, b and 3 more`; `none` for an empty
 * list.
 */
export function formatList(words: readonly string[], most: number): string {
  const more = words.length > most ? ` and ${words.length - most} more` : "";
  return words.length === 0 ? "none" : `${words.slice(0, most).join(", ")}${more}`;
}
