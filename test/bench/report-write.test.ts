import { execFile } from "node:child_process";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { parseResults, ResultsError } from "#bench/report/parse-results.ts";
import { writeReport } from "#bench/report/write.ts";
import { AT_ONCE, buildMeasurement, buildResults } from "#test/bench/report-builders.ts";

const RESULTS = buildResults([
  buildMeasurement("floor"),
  buildMeasurement("run", { latencyMs: 123.456_789 }),
  buildMeasurement("run", { repetition: 1 }),
]);
const NOTES = ["the stock controller was not built"];

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "report-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

describe("writing a report", () => {
  test("reads measurements back as written, including notes", async () => {
    await writeReport(folder, RESULTS, NOTES);
    const text = await readFile(join(folder, "results.json"), "utf8");
    expect(parseResults(text, "results.json")).toEqual({ ...RESULTS, notes: NOTES });
    expect(text.split("\n").filter((line) => line.includes("latenciesMs"))).toHaveLength(3);
  });

  test("writes every picture of the page, and removes those of an earlier report", async () => {
    await writeReport(folder, RESULTS, NOTES);
    await writeFile(join(folder, "pictures", "latency-7-there.svg"), "old");
    await writeFile(join(folder, "pictures", "drawn-by-hand.svg"), "kept");
    await writeReport(folder, RESULTS, NOTES);
    expect((await readdir(join(folder, "pictures"))).sort()).toEqual([
      "drawn-by-hand.svg",
      "latency-1000-at-once.svg",
    ]);
    expect(await readFile(join(folder, "results.md"), "utf8")).toContain("pictures/latency-1000-at-once.svg");
  });
});

describe("rendering again", () => {
  test("creates equal bytes from equal results", async () => {
    await writeReport(folder, RESULTS, NOTES);
    const before = await contents(folder);
    await rm(join(folder, "results.md"));
    await rm(join(folder, "pictures"), { recursive: true });
    await render(folder);
    expect(await contents(folder)).toEqual(before);
  });

  test.each([
    ["no file", undefined, "cannot be read; run the benchmark"],
    ["half a file", `{"machine": {`, "does not hold results of a benchmark: it is not JSON"],
    ["a file of another shape", "{}", "machine: Invalid input"],
  ])("from %s reports the error with exit code 2", async (_, text, message) => {
    if (text !== undefined) await writeFile(join(folder, "results.json"), text);
    const failed = await render(folder).catch((error: unknown) => error);
    expect(failed).toMatchObject({ code: 2, stderr: expect.stringContaining(message) });
    expect(await readdir(folder)).not.toContain("results.md");
  });
});

describe("malformed results", () => {
  const [floor, run] = RESULTS.measurements;
  test.each<[string, unknown, string[]]>([
    ["a key too many", { ...RESULTS, extra: 1 }, [""]],
    [
      "two faults",
      { ...RESULTS, measurements: [{ ...floor, totalMs: "2 s", nakedNodes: -1 }] },
      ["measurements[0].totalMs", "measurements[0].nakedNodes"],
    ],
    [
      "an unknown contender",
      { ...RESULTS, measurements: [{ ...run, contender: "other" }] },
      ["measurements[0].contender"],
    ],
    [
      "an unknown row",
      { ...RESULTS, measurements: [floor, { ...run, row: "7-there" }] },
      ["measurements[1].row"],
    ],
    ["a repetition twice", { ...RESULTS, measurements: [run, floor, run] }, ["measurements[2]"]],
    [
      "nodes that got lost",
      { ...RESULTS, measurements: [{ ...run, latenciesMs: [1] }] },
      ["measurements[0]"],
    ],
    ["a row twice", { ...RESULTS, rows: [AT_ONCE, AT_ONCE] }, ["rows"]],
  ])("%s", (_, value, paths) => {
    expect(faultsIn(value)).toEqual(paths);
  });

  test("lists the first ten faults, and the number of others", () => {
    const measurements = Array.from({ length: 13 }, () => ({ ...floor, totalMs: -1 }));
    const told = errorOf({ ...RESULTS, measurements })?.message ?? "";
    expect(told).toContain("measurements[9].totalMs: ");
    expect(told).not.toContain("measurements[10]");
    expect(told).toContain("; and 3 more");
  });
});

function errorOf(value: unknown): ResultsError | undefined {
  try {
    parseResults(JSON.stringify(value), "results.json");
    return undefined;
  } catch (error) {
    if (error instanceof ResultsError) return error;
    throw error;
  }
}

function faultsIn(value: unknown): string[] | undefined {
  return errorOf(value)?.faults.map(({ path }) => path);
}

async function render(path: string): Promise<void> {
  await promisify(execFile)(process.execPath, ["bench/report/main.ts", path]);
}

async function contents(path: string): Promise<Record<string, string>> {
  const files = await readdir(path, { recursive: true, withFileTypes: true });
  const names = files.filter((file) => file.isFile()).map((file) => join(file.parentPath, file.name));
  return Object.fromEntries(
    await Promise.all(names.sort().map(async (name) => [name, await readFile(name, "utf8")])),
  );
}
