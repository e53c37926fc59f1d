/** Returns a text as a CEL string literal, with any characters escaped. */
export function formatCelString(text: string): string {
  return `'${text.replaceAll(/[\\']/g, "\\$&").replaceAll(ACTS, escapeUnicode)}'`;
}

/** Returns texts as a CEL list literal, one per line. */
export function formatCelList(texts: readonly string[]): string {
  return `[\n${texts.map((text) => `  ${formatCelString(text)},\n`).join("")}]`.replace(/,\n\]$/, "\n]");
}

/** Returns pairs of texts as a CEL map literal, one per line. */
export function formatCelMap(pairs: readonly (readonly [key: string, value: string])[]): string {
  const lines = pairs.map(([key, value]) => `  ${formatCelString(key)}: ${formatCelString(value)}`);
  return `{\n${lines.join(",\n")}\n}`;
}

/** Parses the pairs of a map literal from `formatCelMap`, ignoring blanks; undefined for any other text. */
export function readCelMap(text: string): readonly (readonly [key: string, value: string])[] | undefined {
  const inner = MAP.exec(text)?.[1];
  if (inner === undefined) return undefined;
  const pairs: (readonly [string, string])[] = [];
  for (const [, key = "", value = ""] of inner.matchAll(PAIR)) {
    const pair = [parsePlainText(key), parsePlainText(value)] as const;
    if (pair[0] === undefined || pair[1] === undefined) return undefined;
    pairs.push([pair[0], pair[1]]);
  }
  return pairs;
}

/** Control characters and line separators, which a literal must not contain unescaped. */
const ACTS = /[\p{Cc}\p{Zl}\p{Zp}]/gu;

const STRING = String.raw`'((?:[^'\\\n]|\\.)*)'`;
const PAIR = new RegExp(String.raw`${STRING}\s*:\s*${STRING}`, "g");
const WHOLE_PAIR = PAIR.source.replaceAll("((?:", "(?:(?:");
const MAP = new RegExp(String.raw`^\s*\{\s*((?:${WHOLE_PAIR}\s*(?:,\s*|(?=\})))*)\}\s*$`);

function escapeUnicode(character: string): string {
  return `\\u${Number(character.codePointAt(0)).toString(16).padStart(4, "0")}`;
}

/** Returns the text between the quotes; undefined if it has escapes that `formatCelString` does not write. */
function parsePlainText(literal: string): string | undefined {
  const rest = literal.replaceAll(/\\([\\'])/g, "");
  return rest.includes("\\") ? undefined : literal.replaceAll(/\\([\\'])/g, "$1");
}
