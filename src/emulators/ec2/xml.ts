import Builder from "fast-xml-builder";

/** The content of an element: text, children by name, or a repeated child; undefined is left out. */
export type XmlContent =
  | string
  | number
  | boolean
  | undefined
  | readonly XmlContent[]
  | { readonly [name: string]: XmlContent };

const builder = new Builder({ ignoreAttributes: false, suppressBooleanAttributes: false });

/** Renders an XML document; texts are escaped. */
export function renderXml(
  root: string,
  namespace: string | undefined,
  content: { readonly [name: string]: XmlContent },
): string {
  return builder.build({
    "?xml": { "@_version": "1.0", "@_encoding": "UTF-8" },
    [root]: { "@_xmlns": namespace, ...content },
  });
}

/** Renders a list in the EC2 protocol: one `item` element for each. */
export function renderItems<T>(values: readonly T[], render: (value: T) => XmlContent): XmlContent {
  return { item: values.map(render) };
}
