import * as yaml from "yaml";

/** Where something stands in a text, both counted from 1. */
export interface Position {
  readonly line: number;
  readonly column: number;
}

/** YAML as plain values, and where they stand in the text; or what is no YAML. */
export type ParsedYaml =
  | { readonly kind: "value"; readonly value: unknown; positionOf(path: readonly PropertyKey[]): Position }
  | { readonly kind: "faults"; readonly faults: readonly YamlFault[] };

/** Why a text is no YAML, and where. */
export interface YamlFault extends Partial<Position> {
  readonly message: string;
}

/** Parses one document of YAML (or JSON) strictly: no key twice, no tags, no aliases without end. */
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
    return { kind: "value", value, positionOf: (path) => positionAt(offsetOf(document.contents, path)) };
  } catch {
    // Aliases of nothing throw as well as those that multiply beyond the library's limit.
    return { kind: "faults", faults: [{ message: "an alias of nothing, or aliases that multiply" }] };
  }
}

/** Far more than a kubeconfig of a hundred clusters has. */
const MAX_TOKENS = 20_000;

/**
 * Whether text is more YAML than an API server's or a tenant's document of ours ever is. Ask before `parseYaml` where others write the
 * text: the parser takes time in proportion to the square of the number of brackets and quotes, minutes for half a megabyte of them.
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

/** Of the key or list item that the path leads to, or of the last one on the way that there is. */
function offsetOf(contents: unknown, path: readonly PropertyKey[]): number {
  let node = contents;
  let offset = startOf(node) ?? 0;
  for (const segment of path) {
    if (yaml.isMap(node)) {
      const pair = node.items.find(({ key }) => yaml.isScalar(key) && String(key.value) === String(segment));
      if (pair === undefined) break;
      offset = startOf(pair.key) ?? offset;
      node = pair.value;
    } else if (yaml.isSeq(node)) {
      node = node.items[Number(segment)];
      offset = startOf(node) ?? offset;
    } else break;
  }
  return offset;
}

function startOf(node: unknown): number | undefined {
  return yaml.isNode(node) ? node.range?.[0] : undefined;
}
