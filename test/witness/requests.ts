import { CONTROL_PLANE_USERS, type RequestRecord } from "#emulators/harness/control-plane.ts";

/**
 * Returns a user's unique requests as `verb resource`, such as `patch nodes/status`, sorted; without rejected
 * ones.
 */
export function listUsedRights(records: readonly RequestRecord[], user: string): readonly string[] {
  const used = records.filter((record) => record.user === user && record.code < 400).map(rightOf);
  return [...new Set(used)].sort();
}

/** Counts the writes of our functions on each node, by `resource code`, such as `nodes/status 200`. */
export function countWritesByNode(
  records: readonly RequestRecord[],
): ReadonlyMap<string, Readonly<Record<string, number>>> {
  const nodes = new Map<string, Record<string, number>>();
  for (const record of records) {
    if (record.user !== CONTROL_PLANE_USERS.node.name || record.verb !== "patch") continue;
    if (record.name === undefined || record.resource !== "nodes") continue;
    const counts = nodes.get(record.name) ?? {};
    const key = `${resourceOf(record)} ${record.code}`;
    counts[key] = (counts[key] ?? 0) + 1;
    nodes.set(record.name, counts);
  }
  return nodes;
}

/** The writes of a node that came up without a conflict: addresses, then the rest. */
export const TWO_WRITES: Readonly<Record<string, number>> = { "nodes/status 200": 1, "nodes 200": 1 };

/** Counts successful and failed uses of each right, as `verb resource code`. */
export function countRequests(
  records: readonly RequestRecord[],
  user: string,
): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const record of records) {
    if (record.user !== user) continue;
    const key = `${rightOf(record)} ${record.code}`;
    counts[key] = (counts[key] ?? 0) + 1;
  }
  return counts;
}

function rightOf(record: RequestRecord): string {
  return `${record.verb} ${resourceOf(record)}`;
}

function resourceOf({ resource, subresource }: RequestRecord): string {
  return subresource === undefined ? resource : `${resource}/${subresource}`;
}
