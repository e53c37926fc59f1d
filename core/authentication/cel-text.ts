/** A text as a string literal of CEL, whatever stands in it. */
export function celString(text: string): string {
  return `'${text.replaceAll(/[\\']/g, "\\$&").replaceAll(ACTS, unicodeEscape)}'`;
}

/** Texts as a list literal of CEL, one a line. */
export function celList(texts: readonly string[]): string {
  return `[\n${texts.map((text) => `  ${celString(text)},\n`).join("")}]`.replace(/,\n\]$/, "\n]");
}

/** Pairs of texts as a map literal of CEL, one a line. */
export function celMap(pairs: readonly (readonly [key: string, value: string])[]): string {
  const lines = pairs.map(([key, value]) => `  ${celString(key)}: ${celString(value)}`);
  return `{\n${lines.join(",\n")}\n}`;
}

/** The pairs of a map literal as `celMap` writes it, blanks aside; undefined for whatever else. */
export function readCelMap(text: string): readonly (readonly [key: string, value: string])[] | undefined {
  const inner = MAP.exec(text)?.[1];
  if (inner === undefined) return undefined;
  const pairs: (readonly [string, string])[] = [];
  for (const [, key = "", value = ""] of inner.matchAll(PAIR)) {
    const pair = [plainText(key), plainText(value)] as const;
    if (pair[0] === undefined || pair[1] === undefined) return undefined;
    pairs.push([pair[0], pair[1]]);
  }
  return pairs;
}

/** Control characters and separators of lines, which no literal may have as they are. */
const ACTS = /[\p{Cc}\p{Zl}\p{Zp}]/gu;

const STRING = String.raw`'((?:[^'\\\n]|\\.)*)'`;
const PAIR = new RegExp(String.raw`${STRING}\s*:\s*${STRING}`, "g");
const WHOLE_PAIR = PAIR.source.replaceAll("((?:", "(?:(?:");
const MAP = new RegExp(String.raw`^\s*\{\s*((?:${WHOLE_PAIR}\s*(?:,\s*|(?=\})))*)\}\s*$`);

function unicodeEscape(character: string): string {
  return `\\u${Number(character.codePointAt(0)).toString(16).padStart(4, "0")}`;
}

/** What stands between the quotes as text; undefined where it has escapes that are not written here. */
function plainText(literal: string): string | undefined {
  const rest = literal.replaceAll(/\\([\\'])/g, "");
  return rest.includes("\\") ? undefined : literal.replaceAll(/\\([\\'])/g, "$1");
}
