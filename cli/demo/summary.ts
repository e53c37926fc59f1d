import type { Machine } from "#cli/demo/nodes.ts";
import { print, printTitle } from "#cli/demo/screen.ts";
import type { Stage } from "#cli/demo/stage.ts";
import { formatMs, formatTable, getPercentile } from "#cli/demo/table.ts";
import { CONTROL_PLANE_USERS } from "#emulators/harness/control-plane.ts";
import type { NodeRecord } from "#emulators/harness/node-history.ts";

/** An act that was shown. */
export interface Act {
  readonly name: string;
  readonly machines: readonly Machine[];
}

/**
 * Prints the table from the API server's own audit log and watch; throws if a node is naked or the log has a
 * gap.
 */
export async function summarize(stage: Stage, acts: readonly Act[]): Promise<void> {
  printTitle(4, "what it took, from the API server's record");
  const rows = acts.map(({ name, machines }) => formatRow(name, selectRecords(stage, machines)));
  print(formatTable([["", "nodes", "p50", "p95", "max", "naked"], ...rows]));
  const nodes = acts.reduce((sum, { machines }) => sum + machines.length, 0);
  print(await formatRequests(stage, nodes));
  const calls = Object.entries(stage.cloud.counts()).map(([action, count]) => `${count} ${action}`);
  print(`cloud calls for ${nodes} nodes: ${calls.join(", ")}`);
  const naked = [...stage.history.records.values()].filter((record) => record.naked);
  if (naked.length > 0)
    throw new Error(`${naked.length} nodes were without the taint and without an address`);
  if (stage.history.hole !== undefined) throw new Error(`the watch missed versions: ${stage.history.hole}`);
}

function formatRow(name: string, records: readonly NodeRecord[]): string[] {
  const delaysMs = records.map(({ addedAt, schedulableAt }) => (schedulableAt ?? Number.NaN) - addedAt);
  const naked = records.filter((record) => record.naked).length;
  const times = [getPercentile(delaysMs, 0.5), getPercentile(delaysMs, 0.95), getPercentile(delaysMs, 1)].map(
    formatMs,
  );
  return [name, String(records.length), ...times, String(naked)];
}

async function formatRequests({ plane }: Stage, nodes: number): Promise<string> {
  const record = await plane.record();
  const ours = record.filter(
    ({ user, resource }) => user === CONTROL_PLANE_USERS.node.name && resource === "nodes",
  );
  const writes = ours.filter(({ verb, code }) => verb === "patch" && code === 200).length;
  const refused = ours.filter(({ verb, code }) => verb === "patch" && code !== 200).length;
  const reads = ours.filter(({ verb }) => verb === "get").length;
  const throttled = record.filter(({ code }) => code === 429).length;
  return `node writes: ${writes} (${(writes / nodes).toFixed(2)} a node), refused: ${refused}, reads: ${reads}, 429s: ${throttled}`;
}

function selectRecords({ history }: Stage, machines: readonly Machine[]): NodeRecord[] {
  const names = new Set(machines.map(({ name }) => name));
  return [...history.records.values()].filter(({ name }) => names.has(name));
}
