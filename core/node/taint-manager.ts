import { FIELD_MANAGER } from "#core/contracts.ts";

/**
 * Returns the last writer of a node's taints by its `managedFields`, if it is not this one. `spec.taints` is
 * one atomic field, so its last writer owns all of it.
 */
export function findTaintManager(object: unknown): string | undefined {
  const managed = getMember(getMember(object, "metadata"), "managedFields");
  if (!Array.isArray(managed)) return undefined;
  const writers = managed
    .filter((entry) => getMember(getMember(getMember(entry, "fieldsV1"), "f:spec"), "f:taints") !== undefined)
    .map((entry) => ({ manager: getMember(entry, "manager"), time: String(getMember(entry, "time") ?? "") }))
    .sort((a, b) => (a.time < b.time ? 1 : -1));
  for (const { manager } of writers) {
    if (typeof manager === "string" && manager !== FIELD_MANAGER) return manager;
  }
  return undefined;
}

function getMember(value: unknown, name: string): unknown {
  if (typeof value !== "object" || value === null) return undefined;
  return (value as Readonly<Record<string, unknown>>)[name];
}
