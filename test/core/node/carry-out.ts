import fastJsonPatch from "fast-json-patch";
import type { ClusterWrite, Decision, TestOperation } from "#core/decision.ts";
import { Node } from "#core/node/node.ts";

/** The node after the writes of a decision, or itself after one that writes nothing; throws where a test fails. */
export function carriedOut(node: Node, decision: Decision): Node {
  return decision.kind === "change" ? decision.writes.reduce(afterWrite, node) : node;
}

/** The tests of a write that do not hold on a node. */
export function failedTests(node: Node, write: ClusterWrite): TestOperation[] {
  return write.precondition.filter((test) => !holds(node, test));
}

/** As kube-apiserver carries out a JSON patch: tests first, and one of null holds where nothing is. */
function afterWrite(node: Node, write: ClusterWrite): Node {
  const failed = failedTests(node, write);
  if (failed.length > 0) throw new Error(`tests that fail: ${JSON.stringify(failed)}`);
  if (write.patch.some(({ path }) => isStatus(path) !== (write.subresource === "status")))
    throw new Error(
      `the ${write.subresource ?? "main"} resource ignores part of ${JSON.stringify(write.patch)}`,
    );
  const patched = fastJsonPatch.applyPatch(structuredClone(node), write.patch, true).newDocument;
  return Node.parse(patched);
}

function isStatus(path: string): boolean {
  return path.startsWith("/status/");
}

function holds(node: Node, { path, value }: TestOperation): boolean {
  const present = valueAt(node, path.split("/").slice(1).map(unescaped));
  return JSON.stringify(present ?? null) === JSON.stringify(value ?? null);
}

function valueAt(value: unknown, [key, ...rest]: readonly string[]): unknown {
  if (key === undefined) return value;
  if (value === null || typeof value !== "object") throw new Error(`no parent of ${key}`);
  return valueAt(Object.hasOwn(value, key) ? Reflect.get(value, key) : undefined, rest);
}

function unescaped(segment: string): string {
  return segment.replaceAll("~1", "/").replaceAll("~0", "~");
}
