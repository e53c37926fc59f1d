import { isDeepStrictEqual } from "node:util";
import { isJsonObject, type JsonObject } from "#emulators/api-server/object.ts";
import { createBadRequest, patchDoesNotApply } from "#emulators/api-server/status.ts";

/**
 * Applies a JSON patch (RFC 6902) in place as kube-apiserver's library does. It differs from the RFC and
 * other libraries: `test` of null holds for an absent member, but not for an element or a parent. `replace` adds
 * an absent member, and `remove` of an absent one fails. All failures are one Refusal, which does not name the
 * operation.
 */
export function applyJsonPatch(document: JsonObject, patch: unknown): JsonObject {
  if (!Array.isArray(patch)) {
    const kind = patch === null ? "null" : typeof patch;
    throw createBadRequest(
      `error decoding patch: json: cannot unmarshal ${kind} into Go value of type []handlers.jsonPatchOp`,
    );
  }
  for (const operation of patch) {
    if (!isJsonObject(operation)) {
      throw createBadRequest(
        `error decoding patch: json: cannot unmarshal ${typeof operation} into Go value of type handlers.jsonPatchOp`,
      );
    }
    applyOperation(document, operation);
  }
  return document;
}

type Container = JsonObject | unknown[];

function applyOperation(document: JsonObject, operation: JsonObject): void {
  const { op, path, from, value } = operation;
  switch (op) {
    case "test":
      if (!isDeepStrictEqual(read(document, path) ?? null, value ?? null)) throw patchDoesNotApply();
      return;
    case "add":
      write(document, path, value ?? null, "add");
      return;
    case "replace":
      write(document, path, value ?? null, "replace");
      return;
    case "remove":
      remove(document, path);
      return;
    case "copy":
      write(document, path, structuredClone(read(document, from)), "add");
      return;
    case "move": {
      const moved = read(document, from);
      remove(document, from);
      write(document, path, moved, "add");
      return;
    }
    default:
      throw patchDoesNotApply();
  }
}

function read(document: JsonObject, path: unknown): unknown {
  const [container, key] = find(document, path);
  if (!Array.isArray(container)) return Object.hasOwn(container, key) ? container[key] : undefined;
  return container[parseIndex(container, key)];
}

function write(document: JsonObject, path: unknown, value: unknown, operation: "add" | "replace"): void {
  const [container, key] = find(document, path);
  if (!Array.isArray(container)) container[key] = value;
  else if (operation === "replace") container[parseIndex(container, key)] = value;
  else if (key === "-") container.push(value);
  else container.splice(parseIndex(container, key, container.length + 1), 0, value);
}

function remove(document: JsonObject, path: unknown): void {
  const [container, key] = find(document, path);
  if (Array.isArray(container)) container.splice(parseIndex(container, key), 1);
  else if (!Object.hasOwn(container, key)) throw patchDoesNotApply();
  else delete container[key];
}

function find(document: JsonObject, path: unknown): readonly [Container, string] {
  if (typeof path !== "string" || !path.startsWith("/")) throw patchDoesNotApply();
  const parts = path.slice(1).split("/").map(unescapePart);
  const key = parts.pop() ?? "";
  let container: Container = document;
  for (const part of parts) {
    const next: unknown = Array.isArray(container)
      ? container[parseIndex(container, part)]
      : Object.hasOwn(container, part) && container[part];
    if (!isJsonObject(next) && !Array.isArray(next)) throw patchDoesNotApply();
    container = next;
  }
  return [container, key];
}

function unescapePart(part: string): string {
  return part.replaceAll("~1", "/").replaceAll("~0", "~");
}

// Negative indices count from the end there.
function parseIndex(list: readonly unknown[], key: string, length = list.length): number {
  if (!/^-?\d+$/.test(key)) throw patchDoesNotApply();
  const index = Number(key) < 0 ? Number(key) + length : Number(key);
  if (index < 0 || index >= length) throw patchDoesNotApply();
  return index;
}
