import { isDeepStrictEqual } from "node:util";
import { isJsonObject, type JsonObject } from "#emulators/api-server/object.ts";

/** Applies a JSON merge patch (RFC 7386); neither argument is changed. */
export function applyMergePatch(document: JsonObject, patch: JsonObject): JsonObject {
  const merged = { ...document };
  for (const [field, value] of Object.entries(patch)) {
    if (value === null) delete merged[field];
    else if (isJsonObject(value)) merged[field] = applyMergePatch(toObject(merged[field]), value);
    else merged[field] = value;
  }
  return merged;
}

/**
 * Applies a strategic merge patch as far as nodes, events and config maps need it. Lists are merged by their
 * key or replaced (as taints are); of the directives, `$patch` and `$deleteFromPrimitiveList` are known.
 */
export function applyStrategicMergePatch(document: JsonObject, patch: JsonObject): JsonObject {
  if (patch["$patch"] === "replace") return removeDirectives(patch);
  if (patch["$patch"] === "delete") return {};
  const merged = { ...document };
  for (const [field, value] of Object.entries(patch)) {
    const [directive, target] = field.split("/");
    if (directive === "$deleteFromPrimitiveList" && target !== undefined) {
      merged[target] = listOr(merged[target]).filter((item) => !listOr(value).includes(item));
    } else if (field.startsWith("$")) {
      // The server's readers ignore the effects of $setElementOrder and $retainKeys.
    } else if (value === null) delete merged[field];
    else if (isJsonObject(value)) merged[field] = applyStrategicMergePatch(toObject(merged[field]), value);
    else if (Array.isArray(value)) merged[field] = mergeList(field, listOr(merged[field]), value);
    else merged[field] = value;
  }
  return merged;
}

/** The patchMergeKey of each list that has one; a list of `finalizers` is merged as a set, all others are atomic. */
const MERGE_KEYS: Readonly<Record<string, string>> = {
  addresses: "type",
  conditions: "type",
  ownerReferences: "uid",
};

function mergeList(field: string, list: readonly unknown[], patch: readonly unknown[]): readonly unknown[] {
  if (field === "finalizers") return [...new Set([...list, ...patch])];
  const key = MERGE_KEYS[field];
  const items = patch.filter(isJsonObject);
  if (key === undefined) return patch;
  if (items.some((item) => item["$patch"] === "replace")) return items.filter((item) => !item["$patch"]);
  const merged = list.filter(isJsonObject);
  const added: JsonObject[] = [];
  for (const item of items) {
    const at = merged.findIndex((known) => isDeepStrictEqual(known[key], item[key]));
    const known = merged[at];
    if (item["$patch"] === "delete") merged.splice(at, at < 0 ? 0 : 1);
    else if (known === undefined) added.push(item);
    else merged[at] = applyStrategicMergePatch(known, item);
  }
  return [...added, ...merged];
}

function removeDirectives(patch: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(patch).filter(([field]) => !field.startsWith("$")));
}

function toObject(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {};
}

function listOr(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
