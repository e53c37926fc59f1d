import type { ClusterWrite, PatchOperation, TestOperation } from "#core/decision.ts";
import type { Node } from "#core/node/node.ts";

/** A JSON pointer, its parts escaped. */
export function pointer(...parts: readonly (string | number)[]): string {
  return parts.map((part) => `/${String(part).replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
}

/** Requires the value at the path; undefined requires that there is none. */
export function test(path: string, value: unknown): TestOperation {
  return { op: "test", path, value: value ?? null };
}

/** Sets the value at the path, whether or not there is one. */
export function add(path: string, value: unknown): PatchOperation {
  return { op: "add", path, value };
}

/** Part of a write: what it requires and what it does. */
export interface PatchPart {
  readonly tests: readonly TestOperation[];
  readonly operations: readonly PatchOperation[];
}

/** One write of the node, guarded by its uid. */
export function nodeWrite(
  node: Node,
  tests: readonly TestOperation[],
  operations: readonly [PatchOperation, ...PatchOperation[]],
  subresource?: "status",
): ClusterWrite {
  return {
    on: "cluster",
    resource: "nodes",
    ...(subresource === undefined ? {} : { subresource }),
    verb: "patch",
    name: node.metadata.name,
    precondition: [test("/metadata/uid", node.metadata.uid), ...tests],
    patch: [...operations],
  };
}

/** Joins parts to one write of the node; undefined where they do nothing. */
export function nodeWriteOf(node: Node, parts: readonly PatchPart[]): ClusterWrite | undefined {
  const [first, ...others] = parts.flatMap((part) => part.operations);
  if (first === undefined) return undefined;
  return nodeWrite(
    node,
    parts.flatMap((part) => part.tests),
    [first, ...others],
  );
}

/** Adds labels; with `onlyIfAbsent` each of them only where the node has none of that key. */
export function addLabels(
  node: Node,
  labels: Readonly<Record<string, string>>,
  onlyIfAbsent: boolean,
): PatchPart {
  const pairs = Object.entries(labels);
  if (pairs.length === 0) return { tests: [], operations: [] };
  if (node.metadata.labels === undefined) {
    // A label cannot be added to a map that is not there.
    const whole = pointer("metadata", "labels");
    return { tests: [test(whole, null)], operations: [add(whole, { ...labels })] };
  }
  const path = (key: string): string => pointer("metadata", "labels", key);
  return {
    tests: onlyIfAbsent ? pairs.map(([key]) => test(path(key), null)) : [],
    operations: pairs.map(([key, value]) => add(path(key), value)),
  };
}
