import { parse, type DefaultTreeAdapterTypes as Tree } from "parse5";

/** An element as a browser parses it from the page. */
export interface Element {
  readonly tag: string;
  readonly attributes: Readonly<Record<string, string>>;
  /** Its whole text, with white space as displayed. */
  readonly text: string;
  /** All elements inside, at any depth, in order. */
  readonly within: readonly Element[];
}

/**
 * Parses a page as the standard defines for browsers without scripts; rejects what they would have to repair.
 */
export function parsePage(page: string): Element {
  const faults: string[] = [];
  const document = parse(page, {
    scriptingEnabled: false,
    onParseError: ({ code, startLine }) => faults.push(`${code} in line ${startLine}`),
  });
  if (faults.length > 0) throw new Error(faults.join(", "));
  return elementOf("#document", [], document.childNodes);
}

/** Returns the elements of this tag. */
export function findAll({ within }: Element, tag: string): readonly Element[] {
  return within.filter((each) => each.tag === tag);
}

function elementOf(tag: string, attrs: readonly Attribute[], children: readonly Tree.ChildNode[]): Element {
  const within = children.flatMap((child) => {
    if (!("tagName" in child)) return [];
    const element = elementOf(child.tagName, child.attrs, child.childNodes);
    return [element, ...element.within];
  });
  const attributes = Object.fromEntries(attrs.map(({ name, value }) => [name, value]));
  return { tag, attributes, text: textOf(children).replaceAll(/\s+/g, " ").trim(), within };
}

interface Attribute {
  readonly name: string;
  readonly value: string;
}

function textOf(nodes: readonly Tree.ChildNode[]): string {
  return nodes
    .map((node) => {
      if ("value" in node) return node.value;
      return "childNodes" in node ? textOf(node.childNodes) : "";
    })
    .join("");
}
