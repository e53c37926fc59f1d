import { UNREADABLE } from "./check-value.ts";
import { parseScalar } from "./parse-scalar.ts";
import { getShape, type ServiceModel, type Shape, type ShapeReference } from "./service-model.ts";
import { describeKind, type Report } from "./violation.ts";

/** Parameters by the parts of their names: `Filter.1.Name` is three levels. */
interface Node {
  text: string | undefined;
  readonly children: Map<string, Node>;
}

/**
 * Reads the parameters of a query request into the form of the SDK's commands, by the model's protocol. Reports
 * parameters that the shape does not have.
 */
export function readForm(
  model: ServiceModel,
  input: ShapeReference,
  parameters: Iterable<readonly [string, string]>,
  report: Report,
): unknown {
  const root: Node = { text: undefined, children: new Map() };
  for (const [name, text] of parameters) {
    let node = root;
    for (const part of name.split(".")) {
      const child = node.children.get(part) ?? { text: undefined, children: new Map() };
      node.children.set(part, child);
      node = child;
    }
    node.text = text;
  }
  return readNode(model, input, root, "", report);
}

function readNode(
  model: ServiceModel,
  reference: ShapeReference,
  node: Node,
  path: string,
  report: Report,
): unknown {
  const shape = getShape(model, reference);
  if (shape.type === "structure") return readStructure(model, shape, node, path, report);
  if (shape.type === "list") return readList(model, reference, shape, node, path, report);
  if (shape.type === "map") return readMap(model, shape, node, path, report);
  if (node.children.size === 0 && node.text !== undefined) return parseScalar(shape, node.text, path, report);
  report(path, "type", `a ${shape.type}, not parameters below it`);
  return UNREADABLE;
}

function readStructure(
  model: ServiceModel,
  { members = {} }: Shape,
  node: Node,
  path: string,
  report: Report,
): object {
  const names = new Map(
    Object.entries(members).map(([name, each]) => [getParameterName(model, name, each), name]),
  );
  const value: Record<string, unknown> = {};
  if (node.text !== undefined && node.text !== "")
    report(path, "type", `a structure, not ${describeKind(node.text)}`);
  for (const [part, child] of node.children) {
    const name = names.get(part);
    const reference = name === undefined ? undefined : members[name];
    const at = path === "" ? (name ?? part) : `${path}.${name ?? part}`;
    if (name === undefined || reference === undefined) report(at, "unknown", "no such parameter");
    else value[name] = readNode(model, reference, child, at, report);
  }
  return value;
}

/** EC2's lists are always `Name.1`; those of other services have a level for the member's name. */
function readList(
  model: ServiceModel,
  { flattened }: ShapeReference,
  { member, flattened: isShapeFlattened }: Shape,
  node: Node,
  path: string,
  report: Report,
): unknown {
  const isFlat = model.metadata.protocol === "ec2" || flattened === true || isShapeFlattened === true;
  // An empty list is one empty parameter.
  if (node.text === "" && node.children.size === 0) return [];
  const level = member?.locationName ?? "member";
  const items = isFlat ? node : node.children.get(level);
  for (const part of node.children.keys())
    if (isFlat ? !/^\d+$/.test(part) : part !== level)
      report(`${path}.${part}`, "unknown", "no such parameter in a list");
  if (items === undefined || member === undefined) return UNREADABLE;
  const numbered = [...items.children].filter(([part]) => /^\d+$/.test(part));
  return numbered.map(([, child]) => readNode(model, member, child, `${path}[]`, report));
}

function readMap(
  model: ServiceModel,
  { key, value, flattened }: Shape,
  node: Node,
  path: string,
  report: Report,
): object {
  const entries = flattened === true ? node : node.children.get("entry");
  const map: Record<string, unknown> = {};
  for (const child of entries?.children.values() ?? []) {
    const [keyNode, valueNode] = [
      child.children.get(key?.locationName ?? "key"),
      child.children.get(value?.locationName ?? "value"),
    ];
    if (keyNode?.text === undefined || valueNode === undefined || value === undefined)
      report(path, "type", "a map's entry, not other parameters");
    else map[keyNode.text] = readNode(model, value, valueNode, `${path}{}`, report);
  }
  return map;
}

function getParameterName(model: ServiceModel, name: string, reference: ShapeReference): string {
  const { queryName } = reference;
  const locationName = reference.locationName ?? getShape(model, reference).locationName;
  if (model.metadata.protocol !== "ec2") return locationName ?? name;
  if (queryName !== undefined) return queryName;
  return locationName === undefined ? name : locationName.charAt(0).toUpperCase() + locationName.slice(1);
}
