import Builder from "fast-xml-builder";

/** What an element can hold: text, children by name, or the same child several times; undefined is left out. */
export type XmlContent =
  | string
  | number
  | boolean
  | undefined
  | readonly XmlContent[]
  | { readonly [name: string]: XmlContent };

const builder = new Builder({ ignoreAttributes: false, suppressBooleanAttributes: false });

/** An XML document; texts are escaped. */
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

/** A list as the EC2 protocol writes it: one `item` element for each. */
export function items<T>(values: readonly T[], render: (value: T) => XmlContent): XmlContent {
  return { item: values.map(render) };
}
