/** An element with its attributes in the order given, numbers to a tenth; children are markup, texts are escaped before. */
export function element(
  name: string,
  attributes: Readonly<Record<string, string | number>>,
  ...children: readonly string[]
): string {
  const written = Object.entries(attributes).map(([key, value]) => ` ${key}="${attribute(value)}"`);
  const open = `<${name}${written.join("")}`;
  return children.length === 0 ? `${open}/>` : `${open}>${children.join("")}</${name}>`;
}

/** Text as it may stand in an element or an attribute. */
export function escapeXml(text: string): string {
  return text.replace(/[<>&"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

/** A coordinate to a tenth of a unit, so that the same input makes the same bytes and few of them. */
export function coordinate(value: number): string {
  if (!Number.isFinite(value)) throw new Error(`a picture cannot have ${value} as a coordinate`);
  return String(Math.round(value * 10) / 10);
}

/** A point of a picture, in its units, downwards. */
export interface Point {
  readonly x: number;
  readonly y: number;
}

function attribute(value: string | number): string {
  return typeof value === "number" ? coordinate(value) : escapeXml(value);
}
