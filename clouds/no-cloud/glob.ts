/**
 * Whether a pattern matches a whole text: `*` matches any characters, `?` one. Takes time proportional to the
 * product of both lengths.
 */
export function matchesGlob(pattern: string, text: string): boolean {
  let at = 0;
  let star: { readonly after: number; text: number } | undefined;
  let index = 0;
  while (index < text.length) {
    if (pattern[at] === "*") {
      at += 1;
      star = { after: at, text: index };
    } else if (pattern[at] === "?" || pattern[at] === text[index]) {
      at += 1;
      index += 1;
    } else if (star !== undefined) {
      // Only the last star must take more: earlier ones have already taken the least possible.
      star.text += 1;
      index = star.text;
      at = star.after;
    } else return false;
  }
  while (pattern[at] === "*") at += 1;
  return at === pattern.length;
}
