import type { XmlElement } from "#test/clouds/aws/moto/xml.ts";
import { UNREADABLE } from "./check-value.ts";
import { parseScalar } from "./parse-scalar.ts";
import { getShape, type ServiceModel, type Shape, type ShapeReference } from "./service-model.ts";
import { describeKind, type Report } from "./violation.ts";

/**
 * Reads an element into the form of the SDK's answers, and reports elements that the shape does not have.
 * `ignored` names children that belong to the protocol.
 */
export function readXml(
  model: ServiceModel,
  reference: ShapeReference,
  element: XmlElement,
  report: Report,
  ignored: ReadonlySet<string> = new Set(),
): unknown {
  const shape = getShape(model, reference);
  return shape.type === "structure"
    ? readStructure(model, shape, element, "", report, ignored)
    : readElement(model, reference, element, "", report);
}

function readElement(
  model: ServiceModel,
  reference: ShapeReference,
  element: XmlElement,
  path: string,
  report: Report,
): unknown {
  const shape = getShape(model, reference);
  if (shape.type === "structure") return readStructure(model, shape, element, path, report);
  if (shape.type === "list") return readList(model, shape, element, path, report);
  if (shape.type === "map") return readMap(model, shape, element.children, path, report);
  if (element.children.length === 0) return parseScalar(shape, element.text.trim(), path, report);
  report(path, "type", `a ${shape.type}, not elements`);
  return UNREADABLE;
}

function readStructure(
  model: ServiceModel,
  { members = {} }: Shape,
  element: XmlElement,
  path: string,
  report: Report,
  ignored: ReadonlySet<string> = new Set(),
): object {
  const names = new Map(
    Object.entries(members).map(([name, each]) => [getElementName(model, name, each), name]),
  );
  const value: Record<string, unknown> = {};
  if (element.children.length === 0 && element.text.trim() !== "")
    report(path, "type", `a structure, not ${describeKind(element.text.trim())}`);
  for (const [elementName, elements] of Map.groupBy(element.children, (each) => each.name)) {
    const name = names.get(elementName);
    const reference = name === undefined ? undefined : members[name];
    const at = path === "" ? (name ?? elementName) : `${path}.${name ?? elementName}`;
    if (name === undefined || reference === undefined) {
      if (!ignored.has(elementName)) report(at, "unknown", "no such element");
      continue;
    }
    const shape = getShape(model, reference);
    const [first] = elements;
    if (isFlattened(reference, shape)) {
      value[name] =
        shape.type === "map"
          ? readMap(model, shape, elements, at, report)
          : elements.map((each) => readItem(model, shape, each, at, report));
    } else if (elements.length > 1) report(at, "type", `one element, not ${elements.length}`);
    else if (first !== undefined) value[name] = readElement(model, reference, first, at, report);
  }
  return value;
}

function readList(
  model: ServiceModel,
  shape: Shape,
  element: XmlElement,
  path: string,
  report: Report,
): unknown {
  const itemName = shape.member?.locationName ?? "member";
  if (element.children.length === 0 && element.text.trim() !== "") {
    report(path, "type", `a list, not ${describeKind(element.text.trim())}`);
    return UNREADABLE;
  }
  const unknown = new Set(element.children.map(({ name }) => name).filter((name) => name !== itemName));
  for (const name of unknown) report(`${path}.${name}`, "unknown", `a list of ${itemName}`);
  return element.children
    .filter(({ name }) => name === itemName)
    .map((each) => readItem(model, shape, each, path, report));
}

function readItem(
  model: ServiceModel,
  { member }: Shape,
  element: XmlElement,
  path: string,
  report: Report,
): unknown {
  return member === undefined ? UNREADABLE : readElement(model, member, element, `${path}[]`, report);
}

function readMap(
  model: ServiceModel,
  { key, value }: Shape,
  entries: readonly XmlElement[],
  path: string,
  report: Report,
): object {
  const map: Record<string, unknown> = {};
  for (const { children } of entries) {
    const keyElement = children.find(({ name }) => name === (key?.locationName ?? "key"));
    const valueElement = children.find(({ name }) => name === (value?.locationName ?? "value"));
    if (keyElement === undefined || valueElement === undefined || value === undefined)
      report(path, "type", "a map's entry, not other elements");
    else map[keyElement.text.trim()] = readElement(model, value, valueElement, `${path}{}`, report);
  }
  return map;
}

function isFlattened({ flattened }: ShapeReference, shape: Shape): boolean {
  return (shape.type === "list" || shape.type === "map") && (flattened === true || shape.flattened === true);
}

/** The elements of a flattened list have the name of its items. */
function getElementName(model: ServiceModel, name: string, reference: ShapeReference): string {
  const shape = getShape(model, reference);
  const itemName = isFlattened(reference, shape) ? shape.member?.locationName : undefined;
  return reference.locationName ?? itemName ?? name;
}
