import fastJsonPatch from "fast-json-patch";
import type { Decision, PatchWrite, TestOperation, Write } from "#core/decision.ts";
import { Node } from "#core/node/node.ts";

/** The writes of a decision, all of them patches; none of one that writes nothing. Throws where one is something else. */
export function patchesOf(decision: Decision): PatchWrite[] {
  return decision.kind === "change" ? decision.writes.map(patchOf) : [];
}

/** The node after the writes of a decision, or itself after one that writes nothing; throws where a test fails. */
export function carriedOut(node: Node, decision: Decision): Node {
  return patchesOf(decision).reduce(afterWrite, node);
}

/** The tests of a write that do not hold on a node. */
export function failedTests(node: Node, write: PatchWrite): TestOperation[] {
  return write.precondition.filter((test) => !holds(node, test));
}

/** As kube-apiserver carries out a JSON patch: tests first, and one of null holds where nothing is. */
function afterWrite(node: Node, write: PatchWrite): Node {
  const failed = failedTests(node, write);
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
