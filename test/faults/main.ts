import { randomInt } from "node:crypto";
import { parseArgs } from "node:util";
import { playRow, type RowResult } from "#test/faults/play-row.ts";
import { ROWS } from "#test/faults/rows.ts";
import { startWorld } from "#test/faults/world.ts";
import { getControlPlaneBinaries } from "#test/setup/control-plane-binaries.ts";

// `npm run test:faults`: the whole table, or with --row the rows whose name contains a word; --seed repeats one.

/** The maximum seconds of the whole table, on two cores. */
const BUDGET_SECONDS = 720;

/** The maximum of printed problems of a row. */
const MAX_PROBLEMS = 5;

const { values } = parseArgs({
  options: { row: { type: "string", multiple: true }, seed: { type: "string" } },
});
const chosen = ROWS.filter(({ name }) => values.row?.some((word) => name.includes(word)) ?? true);
if (chosen.length === 0) throw new Error(`no row's name holds ${values.row?.join(" or ")}`);
const seed = values.seed === undefined ? randomInt(2 ** 31) : Number(values.seed);

const binaries = await getControlPlaneBinaries((line) => process.stderr.write(`${line}\n`));
if (binaries.kind === "missing") throw new Error(`the table needs a real API server: ${binaries.because}`);
const world = await startWorld(binaries.value);
const results: RowResult[] = [];
const startedAt = performance.now();
print(["row", "nodes up", "naked", "wrongly deleted", "lost foreign changes", "seconds", "seed"]);
print(["---", "---:", "---:", "---:", "---:", "---:", "---:"]);
for (const row of chosen) {
  const result = await playRow(row, world, seed);
  results.push(result);
  const { name, up, nodes, naked, wronglyDeleted, lostForeignChanges, seconds, problems } = result;
  print([name, `${up}/${nodes}`, naked, wronglyDeleted, lostForeignChanges, seconds, result.seed]);
  for (const issue of problems.slice(0, MAX_PROBLEMS)) process.stdout.write(`    FAILED: ${issue}\n`);
  if (problems.length > MAX_PROBLEMS)
    process.stdout.write(`    … and ${problems.length - MAX_PROBLEMS} more\n`);
}
await world.close();
const failed = results.filter(({ problems }) => problems.length > 0).length;
const seconds = Math.round((performance.now() - startedAt) / 1000);
process.stdout.write(`\n${seconds} s of a budget of ${BUDGET_SECONDS} s\n`);
process.stdout.write(`${results.length - failed} passed, ${failed} failed\n`);
process.exitCode = failed === 0 ? 0 : 1;

function print(cells: readonly (string | number)[]): void {
  process.stdout.write(`| ${cells.join(" | ")} |\n`);
}
