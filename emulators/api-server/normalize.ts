import { isJsonObject, type JsonObject, type StoredObject } from "#emulators/api-server/object.ts";

/**
 * The object as the real server's types write it: null and empty lists and maps are left out, as are the empty
 * strings and false of fields that are optional there. After the last taint is removed there is no `taints` at all,
 * which is what a later `test` of a patch sees.
 */
export function normalized(object: JsonObject): StoredObject {
  const { kind: _kind, apiVersion: _apiVersion, metadata, ...rest } = object;
  const { managedFields, ...fields } = metadata as JsonObject;
  const kept = withoutEmpty(rest);
  return {
    metadata: { ...withoutEmpty(fields), ...(managedFields === undefined ? {} : { managedFields }) },
    ...kept,
    ...(isJsonObject(object["spec"]) ? { spec: kept["spec"] ?? {} } : {}),
  } as StoredObject;
}

const OMITTED_EMPTY: ReadonlySet<string> = new Set([
  "providerID",
  "podCIDR",
  "unschedulable",
  "generateName",
  "resourceVersion",
  "uid",
  "namespace",
]);
/** Maps of strings of the user's, in which an empty value is a value. */
const MAPS: ReadonlySet<string> = new Set(["labels", "annotations", "data"]);

function withoutEmpty(object: JsonObject): JsonObject {
  const kept: JsonObject = {};
  for (const [field, value] of Object.entries(object)) {
    if (value === null || value === undefined) continue;
    if ((value === "" || value === false) && OMITTED_EMPTY.has(field)) continue;
    if (Array.isArray(value)) {
      if (value.length > 0) kept[field] = value.map(cleanItem);
    } else if (isJsonObject(value)) {
      const inner = MAPS.has(field) ? withoutNull(value) : withoutEmpty(value);
      if (Object.keys(inner).length > 0) kept[field] = inner;
    } else kept[field] = value;
  }
  return kept;
}

function cleanItem(item: unknown): unknown {
  if (!isJsonObject(item)) return item;
  const kept = withoutEmpty(item);
  // A taint without a value has none; `key` and `effect` tell it from other items.
  if (kept["value"] === "" && "effect" in kept) delete kept["value"];
  return kept;
}

function withoutNull(map: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(map).filter(([, value]) => value !== null));
}
