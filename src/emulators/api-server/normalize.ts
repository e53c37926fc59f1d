import { isJsonObject, type JsonObject, type StoredObject } from "#emulators/api-server/object.ts";

/**
 * Returns the object as the real server's types serialize it: without null, empty lists and maps, and without
 * empty strings and false in optional fields. After the removal of the last taint there is no `taints` at
 * all, which a later patch's `test` sees.
 */
export function normalizeObject(object: JsonObject): StoredObject {
  const { kind: _kind, apiVersion: _apiVersion, metadata, ...rest } = object;
  const { managedFields, ...fields } = metadata as JsonObject;
  const kept = removeEmpty(rest);
  return {
    metadata: { ...removeEmpty(fields), ...(managedFields === undefined ? {} : { managedFields }) },
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
/** The user's maps of strings, in which an empty value counts. */
const MAPS: ReadonlySet<string> = new Set(["labels", "annotations", "data"]);

function removeEmpty(object: JsonObject): JsonObject {
  const kept: JsonObject = {};
  for (const [field, value] of Object.entries(object)) {
    if (value === null || value === undefined) continue;
    if ((value === "" || value === false) && OMITTED_EMPTY.has(field)) continue;
    if (Array.isArray(value)) {
      if (value.length > 0) kept[field] = value.map(cleanItem);
    } else if (isJsonObject(value)) {
      const inner = MAPS.has(field) ? removeNull(value) : removeEmpty(value);
      if (Object.keys(inner).length > 0) kept[field] = inner;
    } else kept[field] = TIMES.has(field) ? truncateTime(value) : value;
  }
  return kept;
}

/** The server's types keep whole seconds of these times, in UTC. */
const TIMES: ReadonlySet<string> = new Set([
  "firstTimestamp",
  "lastHeartbeatTime",
  "lastTimestamp",
  "lastTransitionTime",
  "lastUpdateTime",
  "timeAdded",
]);

function truncateTime(value: unknown): unknown {
  const at = typeof value === "string" ? Date.parse(value) : Number.NaN;
  return Number.isNaN(at) ? value : `${new Date(at).toISOString().slice(0, 19)}Z`;
}

function cleanItem(item: unknown): unknown {
  if (!isJsonObject(item)) return item;
  const kept = removeEmpty(item);
  // A taint without a value omits the field; `key` and `effect` distinguish taints from other items.
  if (kept["value"] === "" && "effect" in kept) delete kept["value"];
  return kept;
}

function removeNull(map: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(map).filter(([, value]) => value !== null));
}
