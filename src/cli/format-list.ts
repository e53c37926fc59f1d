/**
 * Formats at most this many words and the number of further ones: `a, b and 3 more`; `none` for an empty
 * list.
 */
export function formatList(words: readonly string[], most: number): string {
  const more = words.length > most ? ` and ${words.length - most} more` : "";
  return words.length === 0 ? "none" : `${words.slice(0, most).join(", ")}${more}`;
}

/** Formats a number with its noun: `1 node`, `2 nodes`. */
export function formatCounted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? "" : "s"}`;
}
