/** The first of the words, at most so many, and how many more there are: `a, b and 3 more`; `none` where there is nothing. */
export function someOf(words: readonly string[], most: number): string {
  const more = words.length > most ? ` and ${words.length - most} more` : "";
  return words.length === 0 ? "none" : `${words.slice(0, most).join(", ")}${more}`;
}
