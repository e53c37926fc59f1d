/**
 * Returns a check whether a text matches a filter value of EC2's: `*` matches any characters, `?` one, and a
 * backslash escapes the next character. Case matters.
 */
export function createMatcher(pattern: string): (text: string) => boolean {
  if (isLiteral(pattern)) return (text) => text === pattern;
  const parts = parse(pattern);
  return (text) => isMatch(parts, text);
}

/** Returns whether a filter value matches only itself. */
export function isLiteral(pattern: string): boolean {
  return !/[*?\\]/.test(pattern);
}

type Part =
  | { readonly kind: "any" }
  | { readonly kind: "one" }
  | { readonly kind: "char"; readonly char: string };

function parse(pattern: string): readonly Part[] {
  const parts: Part[] = [];
  for (let at = 0; at < pattern.length; at += 1) {
    const char = pattern.charAt(at);
    if (char === "\\" && at + 1 < pattern.length) {
      at += 1;
      parts.push({ kind: "char", char: pattern.charAt(at) });
    } else if (char === "*") parts.push({ kind: "any" });
    else if (char === "?") parts.push({ kind: "one" });
    else parts.push({ kind: "char", char });
  }
  return parts;
}

/** Backtracks only to the last star, so that no pattern takes more than length times length steps. */
function isMatch(parts: readonly Part[], text: string): boolean {
  let at = 0;
  let part = 0;
  let star: { readonly part: number; at: number } | undefined;
  while (at < text.length) {
    const current = parts[part];
    if (current?.kind === "any") {
      star = { part, at };
      part += 1;
    } else if (current?.kind === "one" || (current?.kind === "char" && current.char === text.charAt(at))) {
      part += 1;
      at += 1;
    } else if (star !== undefined) {
      star.at += 1;
      at = star.at;
      part = star.part + 1;
    } else return false;
  }
  return parts.slice(part).every(({ kind }) => kind === "any");
}
