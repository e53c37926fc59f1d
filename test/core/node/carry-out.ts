import fastJsonPatch from "fast-json-patch";
import type { Decision, PatchWrite, TestOperation, Write } from "#core/decision.ts";
import { Node } from "#core/node/node.ts";

/** Returns the writes of a decision; empty if it writes nothing. Throws if one is not a patch. */
export function listPatches(decision: Decision): PatchWrite[] {
  return decision.kind === "change" ? decision.writes.map(patchOf) : [];
}

/** Returns the node after the writes of a decision. Throws if a test fails. */
export function carryOut(node: Node, decision: Decision): Node {
  return listPatches(decision).reduce(afterWrite, node);
}

/** Returns the tests of a write that fail on a node. */
export function listFailedTests(node: Node, write: PatchWrite): TestOperation[] {
  return write.precondition.filter((test) => !holds(node, test));
}

/** As kube-apiserver applies a JSON patch: tests first, and a test for null passes on an absent path. */
function afterWrite(node: Node, write: PatchWrite): Node {
  const failed = listFailedTests(node, write);
  if (failed.length > 0) throw new Error(`tests that fail: ${JSON.stringify(failed)}`);
  if (write.patch.some(({ path }) => isStatus(path) !== (write.subresource === "status")))
    throw new Error(
      `the ${write.subresource ?? "main"} resource ignores part of ${JSON.stringify(write.patch)}`,
    );
  const patched = fastJsonPatch.applyPatch(structuredClone(node), write.patch, true).newDocument;
  return Node.parse(patched);
}

function patchOf(write: Write): PatchWrite {
  if (write.on === "cluster" && write.verb === "patch") return write;
  throw new Error(`not a patch: ${JSON.stringify(write)}`);
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
