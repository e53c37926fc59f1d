import { execFile } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { cpus, totalmem } from "node:os";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { Measured } from "#bench/cost/measured.ts";
import { IdleResults, type IdleUsage } from "#bench/idle/measurement.ts";
import { readStockVersion } from "#bench/programs.ts";

// Writes bench/cost/measured.json, the cost model's facts about the programs. It measures the function now,
// after `npm run build` and on a quiet machine, in about a minute. The costs without work come from
// bench/idle.json, which `node bench/idle.ts` writes.

const MEASURED = fileURLToPath(new URL("../bench/cost/measured.json", import.meta.url));
const IDLE = fileURLToPath(new URL("idle.json", import.meta.url));

const functionPart = await measureFunction();
const standingPart = selectStandingCosts(IdleResults.parse(JSON.parse(await readFile(IDLE, "utf8"))));
const [cpu] = cpus();
const measured = Measured.parse({
  date: new Date().toISOString().slice(0, 10),
  machine: `${cpus().length} cores of ${cpu?.model.trim()} with ${Math.round(totalmem() / 2 ** 30)} GiB`,
  versions: {
    node: process.versions.node,
    "aws-cloud-controller-manager": await readStockVersion(),
    "serverless-ccm": await readCommit(),
  },
  function: functionPart,
  ...standingPart,
});
await writeFile(MEASURED, `${JSON.stringify(measured, undefined, 2)}\n`);

async function measureFunction(): Promise<unknown> {
  const program = fileURLToPath(new URL("invocation.ts", import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, [program]);
  return JSON.parse(stdout);
}

/**
 * Returns the relay with one cluster and with the largest measured number of clusters of the same size, and
 * the stock controller.
 */
function selectStandingCosts({ measurements }: IdleResults): Pick<Measured, "relay" | "stock"> {
  const many = measurements.toSorted((a, b) => b.clusters - a.clusters)[0];
  const few = measurements.find(({ clusters, nodesEach }) => clusters === 1 && nodesEach === many?.nodesEach);
  const stock = many?.stock;
  if (many === undefined || few === undefined || stock === undefined) {
    throw new Error(
      "bench/idle.json lacks a measurement: run `node bench/idle.ts` and `node bench/idle.ts --clusters 1 --real 1`",
    );
  }
  return {
    relay: {
      nodesPerCluster: many.nodesEach,
      seconds: many.idle.seconds,
      few: { clusters: few.clusters, ...getStandingCost(few.idle) },
      many: { clusters: many.clusters, ...getStandingCost(many.idle) },
    },
    stock: { nodes: many.nodesEach, seconds: stock.seconds, ...getStandingCost(stock) },
  };
}

function getStandingCost({ seconds, cpuSeconds, peakMiB }: IdleUsage): {
  memoryMiB: number;
  cpuShare: number;
} {
  return { memoryMiB: peakMiB, cpuShare: cpuSeconds / seconds };
}

async function readCommit(): Promise<string> {
  const { stdout } = await promisify(execFile)("git", ["rev-parse", "--short", "HEAD"]);
  return stdout.trim();
}
