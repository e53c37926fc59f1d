import { CONTROL_PLANE_USERS, type RequestRecord } from "#emulators/harness/control-plane.ts";

/** A user's requests as `verb resource`, such as `patch nodes/status`, sorted, each once; refused ones are left out. */
export function rightsUsed(records: readonly RequestRecord[], user: string): readonly string[] {
  const used = records.filter((record) => record.user === user && record.code < 400).map(rightOf);
  return [...new Set(used)].sort();
}

/** How many writes of our functions each node took, by `resource code`, such as `nodes/status 200`. */
export function writesByNode(
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

/** The writes of a node that was brought up without a conflict: addresses, then the rest. */
export const TWO_WRITES: Readonly<Record<string, number>> = { "nodes/status 200": 1, "nodes 200": 1 };

/** How often each right was used, and how often in vain, as `verb resource code`. */
export function requestCounts(
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
