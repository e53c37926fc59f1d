import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { formatCount, formatDollars, formatShare } from "#bench/cost/cost-report.ts";
import { SERIES_PER_CLUSTER } from "#bench/cost/observability.ts";
import bundledPrices from "#bench/cost/prices.json" with { type: "json" };
import { type Ended, runProgram } from "#test/cli/program.ts";

const COST = fileURLToPath(new URL("../../bench/cost.ts", import.meta.url));

const ASKED = ["--nodes-per-day", "1000", "--clusters", "100"];

/** Runs the script to its end. */
const runCost = (flags: readonly string[]): Promise<Ended> => runProgram(flags, "", {}, COST);

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "cost-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function fileOf(name: string, contents: unknown): Promise<string> {
  const file = join(folder, name);
  await writeFile(file, typeof contents === "string" ? contents : JSON.stringify(contents));
  return file;
}

/** Returns the built-in prices, multiplied by a factor. */
function pricesTimes(factor: number): unknown {
  return JSON.parse(JSON.stringify(bundledPrices), (key, value) => (key === "usd" ? factor * value : value));
}

async function billOf(...flags: readonly string[]) {
  const { code, stdout, stderr } = await runCost([...ASKED, "--json", ...flags]);
  if (code !== 0) throw new Error(stderr);
  return JSON.parse(stdout);
}

describe("the table", () => {
  test("equals the one in the documentation", async () => {
    const document = await readFile(new URL("../../docs/explanation/cost.md", import.meta.url), "utf8");
    const [, command, table] = /<!-- npm run bench:cost -- (.*) -->\n```\n(.*?)```/s.exec(document) ?? [];
    expect(command?.split(" ")).toEqual(ASKED);
    expect((await runCost(ASKED)).stdout).toBe(table);
  });

  test("of logs and metrics at 800 clusters equals the one in the documentation, too", async () => {
    const document = await readFile(new URL("../../docs/explanation/cost.md", import.meta.url), "utf8");
    const [, command = "", table = ""] =
      /<!-- logs and metrics of npm run bench:cost -- ([^\n]*) -->\n```\n(.*?)```/s.exec(document) ?? [];
    expect(command).toContain("--clusters 800");
    const { stdout } = await runCost(command.split(" "));
    expect(stdout.split("\n\n").map((part) => `${part}\n`)).toContain(table);
    expect(document).toContain(`a cluster has ${SERIES_PER_CLUSTER} of them`);
  });

  test("fits a screen without blanks at the ends of lines", async () => {
    const lines = (await runCost(ASKED)).stdout.split("\n");
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(120);
    expect(lines.filter((line) => line.endsWith(" "))).toEqual([]);
  });
});

test("the former command fails, and says what to run", async () => {
  const { code, stdout, stderr } = await runProgram(["cost", ...ASKED, "--json"]);
  expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
  expect(stderr).toContain("npm run bench:cost --");
});

describe("the claims", () => {
  test("hold: at most $6 for a million nodes, each alone", async () => {
    const { millionNodes, workload } = await billOf();
    expect(workload.nodesPerInvocation).toBe(1);
    expect(millionNodes.totalUsd).toBeGreaterThan(0);
    expect(millionNodes.totalUsd).toBeLessThanOrEqual(6);
  });

  test("hold: an idle cluster costs cents, at most a twentieth of a stock pod, and nothing without nodes", async () => {
    const { idleCluster, stock } = await billOf();
    expect(idleCluster.totalUsd).toBeLessThan(0.05);
    expect(idleCluster.totalUsd).toBeLessThan(stock.used.clusterUsd);
    expect(idleCluster.totalUsd).toBeLessThan(stock.reserved.clusterUsd / 20);
    expect((await billOf("--nodes-per-cluster", "0")).idleCluster.totalUsd).toBe(0);
  });
});

describe("flags change their values", () => {
  test.each([
    [["--nodes-per-invocation", "100"], "initializeUsd", "less"],
    [["--cold-share", "1"], "initializeUsd", "more"],
    [["--architecture", "x86_64"], "initializeUsd", "more"],
    [["--nodes-per-cluster", "500"], "initializeUsd", "same"],
  ] as const)("%j: %s is %s", async (flags, key, expected) => {
    const [plain, changed] = [await billOf(), await billOf(...flags)];
    const difference = Math.sign(changed.millionNodes[key] - plain.millionNodes[key]);
    expect(difference).toBe({ less: -1, same: 0, more: 1 }[expected]);
  });

  test("twice the prices give twice the bill", async () => {
    const file = await fileOf("dear.json", pricesTimes(2));
    const [plain, dear] = [await billOf(), await billOf("--prices", file)];
    expect(dear.month.totalUsd).toBeCloseTo(2 * plain.month.totalUsd, 4);
    expect(dear.stock.reserved.onePodEachUsd).toBeCloseTo(2 * plain.stock.reserved.onePodEachUsd, 4);
  });
});

describe("all faults are reported at once, with exit code 2", () => {
  test.each([
    ["a flag that is missing", ["--clusters", "1"], undefined, ["--nodes-per-day"]],
    ["fewer than no nodes", [...ASKED, "--nodes-per-day", "-1"], undefined, ["--nodes-per-day: "]],
    ["no clusters", [...ASKED, "--clusters", "0"], undefined, ["--clusters: "]],
    ["NaN", [...ASKED, "--clusters", "NaN"], undefined, ["--clusters: "]],
    ["nothing for a number", [...ASKED, "--clusters", ""], undefined, ["--clusters: "]],
    ["another notation", [...ASKED, "--clusters", "0x10"], undefined, ["--clusters: "]],
    ["an unknown architecture", [...ASKED, "--architecture", "riscv"], undefined, ["--architecture: "]],
    [
      "a missing file of prices",
      [...ASKED, "--prices", "/absent.json"],
      undefined,
      ["--prices /absent.json: "],
    ],
    ["prices that are no JSON", ASKED, "rubbish", ["is not JSON"]],
    ["prices of another form", ASKED, [1, 2], ["document"]],
    [
      "faults everywhere",
      [...ASKED, "--nodes-per-day", "x", "--cold-share", "2"],
      { ...bundledPrices, logs: {}, region: "" },
      ["--nodes-per-day: ", "--cold-share: ", "logs.gbIngested", "region"],
    ],
  ])("%s", async (_given, flags, contents, expected) => {
    const file = contents === undefined ? [] : ["--prices", await fileOf("faulty.json", contents)];
    const { code, stdout, stderr } = await runCost([...flags, ...file]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    for (const part of expected) expect(stderr).toContain(part);
  });
});

describe("printed dollars", () => {
  test.each([
    [0, "0"],
    [0.000_001, "<0.01"],
    [0.004_9, "<0.01"],
    [0.005, "0.01"],
    [4.644, "4.64"],
    [99.99, "99.99"],
    [99.996, "100"],
    [490.5, "491"],
    [1_234_567.4, "1,234,567"],
  ])("%d is %s", (usd, text) => expect(formatDollars(usd)).toBe(text));

  test.each([
    [1_000, "1,000"],
    [2.55, "2.6"],
    [10, "10"],
  ])("a count of %d is %s", (count, text) => expect(formatCount(count)).toBe(text));

  test.each([
    [0.002819237147595357, "0.0028"],
    [0.25, "0.25"],
    [0, "0"],
  ])("a share of %d is %s", (share, text) => expect(formatShare(share)).toBe(text));
});
