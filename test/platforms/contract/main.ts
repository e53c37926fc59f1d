import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { startWorld } from "#test/faults/world.ts";
import { PLATFORMS } from "#test/platforms/contract/platforms.ts";
import { playRow, type RowResult } from "#test/platforms/contract/play-row.ts";
import type { Builds } from "#test/platforms/contract/stage.ts";
import { ROWS, type Row } from "#test/platforms/contract.ts";
import { getControlPlaneBinaries } from "#test/setup/control-plane-binaries.ts";
import { buildCommit, buildToday } from "#test/upgrade/builds.ts";
import { readPreviousCommit } from "#test/upgrade/write-fixtures.ts";

// `npm run test:platforms`: the contract of function platforms, whole. --platform and --row choose platforms and
// rows by a part of their names; --from names the commit of the version before, by default that of the fixtures.

/** The maximum of printed problems of a row. */
const MAX_PROBLEMS = 5;

const { values } = parseArgs({
  options: {
    platform: { type: "string", multiple: true },
    row: { type: "string", multiple: true },
    from: { type: "string" },
  },
});
const choose = <Named extends { readonly name: string }>(
  all: readonly Named[],
  words: readonly string[] | undefined,
): readonly Named[] => all.filter(({ name }) => words?.some((word) => name.includes(word)) ?? true);
const platforms = choose(PLATFORMS, values.platform);
const rows = choose(ROWS, values.row);
if (platforms.length === 0 || rows.length === 0) {
  const [what, all] = platforms.length === 0 ? ["platform", PLATFORMS] : ["row", ROWS];
  process.stderr.write(`no ${what} has such a name; choose from ${all.map(({ name }) => name).join(", ")}\n`);
  process.exit(2);
}

const binaries = await getControlPlaneBinaries((line) => process.stderr.write(`${line}\n`));
if (binaries.kind === "missing") throw new Error(`the suite needs a real API server: ${binaries.because}`);
const folder = await mkdtemp(join(tmpdir(), "platforms-"));
const results: RowResult[] = [];
const startedAt = performance.now();
try {
  const builds: Builds = await makeBuilds();
  const world = await startWorld(binaries.value);
  try {
    for (const platform of platforms) {
      process.stdout.write(`\n### ${platform.name}\n\n${platform.title}.\n\n`);
      print(["row", "nodes up", "naked", "invocations", "processes", "failed invocations", "seconds"]);
      print(["---", "---:", "---:", "---:", "---:", "---", "---:"]);
      for (const row of rows) {
        const result = await playRow(row, platform, world, builds);
        results.push(result);
        printRow(result);
      }
    }
  } finally {
    await world.close();
  }
} finally {
  await rm(folder, { recursive: true, force: true });
}
printSummary();
const failed = results.filter(({ problems }) => problems.length > 0).length;
const skipped = results.filter((result) => result.skipped !== undefined).length;
process.stdout.write(`\n${Math.round((performance.now() - startedAt) / 1000)} s\n`);
process.stdout.write(`${results.length - failed - skipped} passed, ${skipped} skipped, ${failed} failed\n`);
process.exitCode = failed === 0 ? 0 : 1;

/** The version before is built only for rows that run it. */
async function makeBuilds(): Promise<Builds> {
  const today = await buildToday(join(folder, "today"));
  const needsPrevious = ({ options }: Row): boolean =>
    options !== undefined && options({ today, previous: undefined }) === undefined;
  if (!rows.some(needsPrevious)) return { today, previous: undefined };
  return {
    today,
    previous: await buildCommit(values.from ?? (await readPreviousCommit()), join(folder, "previous")),
  };
}

function printRow(result: RowResult): void {
  const { row, nodes, up, naked, invocations, processes, failures, seconds, problems } = result;
  if (result.skipped !== undefined)
    return void print([row, `skipped: ${result.skipped}`, "", "", "", "", ""]);
  const counted = Object.entries(Object.groupBy(failures, (code) => code));
  const failed = counted.map(([code, each]) => `${each?.length} ${code}`).join(", ");
  print([row, `${up}/${nodes}`, naked, invocations ?? "–", processes, failed || "–", seconds]);
  for (const issue of problems.slice(0, MAX_PROBLEMS)) process.stdout.write(`    FAILED: ${issue}\n`);
  if (problems.length > MAX_PROBLEMS)
    process.stdout.write(`    … and ${problems.length - MAX_PROBLEMS} more\n`);
}

/** Prints nodes up and naked ones of each row, by platform. */
function printSummary(): void {
  process.stdout.write("\n### nodes up, naked nodes\n\n");
  print(["row", ...platforms.map(({ name }) => name)]);
  print(["---", ...platforms.map(() => "---:")]);
  for (const row of rows)
    print([
      row.name,
      ...platforms.map((platform) => {
        const found = results.find((each) => each.row === row.name && each.platform === platform.name);
        if (found === undefined || found.skipped !== undefined) return "–";
        const { up, nodes, naked, problems } = found;
        return `${up}/${nodes}, ${naked}${problems.length > 0 ? ", FAILED" : ""}`;
      }),
    ]);
}

function print(cells: readonly (string | number)[]): void {
  process.stdout.write(`| ${cells.join(" | ")} |\n`);
}
