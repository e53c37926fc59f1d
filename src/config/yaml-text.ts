import * as yaml from "yaml";

/** A position in a text; line and column count from 1. */
export interface Position {
  readonly line: number;
  readonly column: number;
}

/** YAML as plain values with their positions, or the faults of invalid YAML. */
export type ParsedYaml =
  | { readonly kind: "value"; readonly value: unknown; positionOf(path: readonly PropertyKey[]): Position }
  | { readonly kind: "faults"; readonly faults: readonly YamlError[] };

/** Why a text is invalid YAML, and where. */
export interface YamlError extends Partial<Position> {
  readonly message: string;
}

/** Parses one YAML (or JSON) document strictly: no duplicate keys, no tags, bounded aliases. */
export function parseYaml(text: string): ParsedYaml {
  const lineCounter = new yaml.LineCounter();
  const document = yaml.parseDocument(text, { uniqueKeys: true, prettyErrors: false, lineCounter });
  const positionAt = (offset: number): Position => {
    const { line, col } = lineCounter.linePos(offset);
    return { line, column: col };
  };
  const faults = [...document.errors, ...document.warnings].map(({ code, message, pos }) => ({
    ...positionAt(pos[0]),
    message: WORDS[code] ?? message,
  }));
  if (faults.length > 0) return { kind: "faults", faults };
  try {
    const value: unknown = document.toJS();
    return { kind: "value", value, positionOf: (path) => positionAt(findOffset(document.contents, path)) };
  } catch {
    // Undefined aliases throw, and so do aliases that expand beyond the library's limit.
    return { kind: "faults", faults: [{ message: "an alias of nothing, or aliases that multiply" }] };
  }
}

/** Far more than a kubeconfig of a hundred clusters has. */
const MAX_TOKENS = 20_000;

/**
 * Whether a text has more YAML tokens than any expected document of an API server or a tenant. Call it before
 * `parseYaml` on untrusted text: the parser's time grows with the square of the brackets and quotes, to
 * minutes for half a megabyte.
 */
export function isTooMuchYaml(text: string): boolean {
  let tokens = 0;
  for (const _ of new yaml.Lexer().lex(text)) {
    tokens += 1;
    if (tokens > MAX_TOKENS) return true;
  }
  return false;
}

const WORDS: Readonly<Partial<Record<yaml.ErrorCode, string>>> = {
  TAB_AS_INDENT: "a tab; YAML is indented with spaces alone",
  DUPLICATE_KEY: "a key that stands here twice; keys of a mapping are unique",
};

/** Returns the offset of the key or list item at the path, or of the last existing one on the way. */
function findOffset(contents: unknown, path: readonly PropertyKey[]): number {
  let node = contents;
  let offset = getStartOffset(node) ?? 0;
  for (const segment of path) {
    if (yaml.isMap(node)) {
      const pair = node.items.find(({ key }) => yaml.isScalar(key) && String(key.value) === String(segment));
      if (pair === undefined) break;
      offset = getStartOffset(pair.key) ?? offset;
      node = pair.value;
    } else if (yaml.isSeq(node)) {
      node = node.items[Number(segment)];
      offset = getStartOffset(node) ?? offset;
    } else break;
  }
  return offset;
}

function getStartOffset(node: unknown): number | undefined {
  return yaml.isNode(node) ? node.range?.[0] : undefined;
}

/** A file with more leading comment lines is not a cloud-config. */
const MAX_LINES = 1_000;

/** Whether a text is INI, as in the stock controllers' cloud-config: a section header comes first. */
export function isStockForm(text: string): boolean {
  for (const line of text.split("\n", MAX_LINES)) {
    const words = line.trim();
    if (words === "" || words.startsWith("#") || words.startsWith(";")) continue;
    return /^\[[A-Za-z][^\],:]*\](\s*[#;].*)?$/.test(words);
  }
  return false;
}
