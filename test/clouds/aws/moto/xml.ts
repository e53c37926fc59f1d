/** An element of an AWS answer, which holds other elements or text. Attributes are kept. */
export interface XmlElement {
  readonly name: string;
  readonly attributes: string;
  children: XmlElement[];
  text: string;
}

/** Creates an element with a text or with these elements. */
export function createElement(name: string, content: string | XmlElement[] = ""): XmlElement {
  return typeof content === "string"
    ? { name, attributes: "", children: [], text: content }
    : { name, attributes: "", children: content, text: "" };
}

/** Parses a document of AWS's services: elements and text, no mixed content, no CDATA. */
export function parseXml(document: string): XmlElement {
  const root = createElement("");
  const open: XmlElement[] = [root];
  for (const [, declaration, closing, name = "", attributes = "", selfClosing, text] of document.matchAll(
    TOKENS,
  )) {
    const inner = open.at(-1) ?? root;
    if (declaration !== undefined) continue;
    if (text !== undefined) inner.text += unescaped(text);
    else if (closing !== undefined) open.pop();
    else {
      const child: XmlElement = { name, attributes, children: [], text: "" };
      inner.children.push(child);
      if (selfClosing === undefined) open.push(child);
    }
  }
  const [document_] = root.children;
  if (document_ === undefined || open.length !== 1)
    throw new Error(`this is no XML document: ${document.slice(0, 200)}`);
  return document_;
}

const TOKENS = /<\?([^>]*)\?>|<(\/)?([^\s/>]+)([^>]*?)(\/)?>|([^<]+)/g;

/** Renders the document of an element. */
export function renderXml(root: XmlElement): string {
  return `<?xml version="1.0" encoding="UTF-8"?>\n${render(root)}`;
}

/** Returns the first child with a name. */
export function findChild(of: XmlElement | undefined, name: string): XmlElement | undefined {
  return of?.children.find((each) => each.name === name);
}

/** Returns the text of the first child with a name. */
export function findText(of: XmlElement | undefined, name: string): string | undefined {
  return findChild(of, name)?.text.trim();
}

/** Returns the members of a list: the children of the child with a name. */
export function listMembers(of: XmlElement | undefined, name: string): XmlElement[] {
  return findChild(of, name)?.children ?? [];
}

/** Sets a child in place of all with its name, or removes it. */
export function setChild(of: XmlElement, name: string, content: string | XmlElement[] | undefined): void {
  const at = of.children.findIndex((each) => each.name === name);
  const rest = of.children.filter((each) => each.name !== name);
  if (content === undefined) of.children = rest;
  else of.children = rest.toSpliced(at < 0 ? rest.length : at, 0, createElement(name, content));
}

/** Returns all descendants with a name. */
export function listDescendants(of: XmlElement, name: string): XmlElement[] {
  return of.children.flatMap((each) => [
    ...(each.name === name ? [each] : []),
    ...listDescendants(each, name),
  ]);
}

function render({ name, attributes, children, text }: XmlElement): string {
  const content = children.length > 0 ? children.map(render).join("") : escaped(text);
  return `<${name}${attributes}>${content}</${name}>`;
}

const ESCAPES: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };

function escaped(text: string): string {
  return text.replaceAll(/[&<>"]/g, (sign) => ESCAPES[sign] ?? sign);
}

function unescaped(text: string): string {
  return text
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&quot;", '"')
    .replaceAll("&apos;", "'")
    .replaceAll(/&#(\d+);/g, (_, code: string) => String.fromCodePoint(Number(code)))
    .replaceAll("&amp;", "&");
}
