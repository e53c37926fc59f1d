import { FIELD_MANAGER } from "#core/contracts.ts";

/**
 * Who wrote a node's taints last, by its `managedFields`, and is not us: `spec.taints` is one atomic field, so whoever wrote
 * the list last owns all of it.
 */
export function taintManagerOf(object: unknown): string | undefined {
  const managed = memberOf(memberOf(object, "metadata"), "managedFields");
  if (!Array.isArray(managed)) return undefined;
  const writers = managed
    .filter((entry) => memberOf(memberOf(memberOf(entry, "fieldsV1"), "f:spec"), "f:taints") !== undefined)
    .map((entry) => ({ manager: memberOf(entry, "manager"), time: String(memberOf(entry, "time") ?? "") }))
    .sort((a, b) => (a.time < b.time ? 1 : -1));
  for (const { manager } of writers) {
    if (typeof manager === "string" && manager !== FIELD_MANAGER) return manager;
  }
  return undefined;
}

function memberOf(value: unknown, name: string): unknown {
  if (typeof value !== "object" || value === null) return undefined;
  return (value as Readonly<Record<string, unknown>>)[name];
}
