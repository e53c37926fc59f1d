/**
 * Formats an element with its attributes in the given order, numbers to a tenth; children are markup, so
 * escape texts before.
 */
export function formatElement(
  name: string,
  attributes: Readonly<Record<string, string | number>>,
  ...children: readonly string[]
): string {
  const written = Object.entries(attributes).map(([key, value]) => ` ${key}="${formatAttribute(value)}"`);
  const open = `<${name}${written.join("")}`;
  return children.length === 0 ? `${open}/>` : `${open}>${children.join("")}</${name}>`;
}

/** Escapes text for an element or an attribute. */
export function escapeXml(text: string): string {
  return text.replace(/[<>&"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

/** Rounds a coordinate to a tenth of a unit, so that the same input gives the same few bytes. */
export function formatCoordinate(value: number): string {
  if (!Number.isFinite(value)) throw new Error(`a picture cannot have ${value} as a coordinate`);
  return String(Math.round(value * 10) / 10);
}

/** A point of a picture, in its units, downwards. */
export interface Point {
  readonly x: number;
  readonly y: number;
}

function formatAttribute(value: string | number): string {
  return typeof value === "number" ? formatCoordinate(value) : escapeXml(value);
}
