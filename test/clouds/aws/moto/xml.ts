/** An element of an AWS answer: it holds other elements, or text. Attributes are carried along as they came. */
export interface XmlElement {
  readonly name: string;
  readonly attributes: string;
  children: XmlElement[];
  text: string;
}

/** An element of that name that holds a text, or these elements. */
export function element(name: string, content: string | XmlElement[] = ""): XmlElement {
  return typeof content === "string"
    ? { name, attributes: "", children: [], text: content }
    : { name, attributes: "", children: content, text: "" };
}

/** Reads a document such as AWS's services answer: elements and text, nothing mixed, no CDATA. */
export function parseXml(document: string): XmlElement {
  const root = element("");
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

/** The document of an element. */
export function renderXml(root: XmlElement): string {
  return `<?xml version="1.0" encoding="UTF-8"?>\n${render(root)}`;
}

/** The first child of that name. */
export function child(of: XmlElement | undefined, name: string): XmlElement | undefined {
  return of?.children.find((each) => each.name === name);
}

/** The text of the first child of that name. */
export function textOf(of: XmlElement | undefined, name: string): string | undefined {
  return child(of, name)?.text.trim();
}

/** What a list holds: the children of the child of that name. */
export function listOf(of: XmlElement | undefined, name: string): XmlElement[] {
  return child(of, name)?.children ?? [];
}

/** Sets a child in place of all of its name, or takes it away. */
export function setChild(of: XmlElement, name: string, content: string | XmlElement[] | undefined): void {
  const at = of.children.findIndex((each) => each.name === name);
  const rest = of.children.filter((each) => each.name !== name);
  if (content === undefined) of.children = rest;
  else of.children = rest.toSpliced(at < 0 ? rest.length : at, 0, element(name, content));
}

/** All elements of that name below an element, however deep. */
export function descendants(of: XmlElement, name: string): XmlElement[] {
  return of.children.flatMap((each) => [...(each.name === name ? [each] : []), ...descendants(each, name)]);
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
