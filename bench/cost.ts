import { readFile } from "node:fs/promises";
import { Command, CommanderError } from "commander";
import type * as z from "zod";
import { type Bill, computeBill } from "#bench/cost/bill.ts";
import { formatCostReport } from "#bench/cost/cost-report.ts";
import bundledMeasured from "#bench/cost/measured.json" with { type: "json" };
import { Measured } from "#bench/cost/measured.ts";
import bundledPrices from "#bench/cost/prices.json" with { type: "json" };
import { Prices, Workload } from "#bench/cost/prices.ts";
import { ConfigurationError } from "#cli/configuration-error.ts";
import { type ConfigurationFault, listFaults } from "#core/config-errors.ts";

// Prints the bill for nodes and clusters, from the measurements in bench/cost/measured.json and the prices in
// bench/cost/prices.json. docs/explanation/cost.md has its tables.

/** The flags, as typed. */
interface CostFlags {
  readonly nodesPerDay: string;
  readonly clusters: string;
  readonly nodesPerCluster: string;
  readonly nodesPerInvocation: string;
  readonly coldShare: string;
  readonly architecture: string;
  readonly prices?: string;
  readonly json?: boolean;
}

const program = new Command("npm run bench:cost --")
  .description("Computes the bill from measured times and published prices, and that of stock controllers.")
  .requiredOption("--nodes-per-day <count>", "nodes that join, all clusters together")
  .requiredOption("--clusters <count>", "clusters, joined or idle")
  .option("--nodes-per-cluster <count>", "nodes that each cluster has", "20")
  .option("--nodes-per-invocation <count>", "mean size of a batch that joins, 1 to 100", "1")
  .option("--cold-share <share>", "part of the invocations that start cold, 0 to 1", "0.1")
  .option("--architecture <name>", "arm64 or x86_64", "arm64")
  .option("--prices <file>", "JSON file of prices, instead of bench/cost/prices.json of us-east-1")
  .option("--json", "the whole bill as JSON")
  .showHelpAfterError("(see --help)")
  .exitOverride()
  .action(printCost);

try {
  await program.parseAsync();
} catch (error) {
  if (error instanceof ConfigurationError) process.stderr.write(`${error.message}\n`);
  else if (!(error instanceof CommanderError)) throw error;
  process.exitCode = error instanceof CommanderError && error.exitCode === 0 ? 0 : 2;
}

/**
 * Prints the cost of nodes and clusters, as a table or as JSON. Throws `ConfigurationError` with all faults
 * of flags and file.
 */
async function printCost(flags: CostFlags): Promise<void> {
  const faults: ConfigurationFault[] = [];
  const workload = parseInput(Workload, buildWorkload(flags), formatFlag, faults);
  const prices = await readPrices(flags.prices, faults);
  const measured = Measured.parse(bundledMeasured);
  if (workload === undefined || prices === undefined) throw new ConfigurationError(faults);
  const bill = computeBill(workload, measured, prices);
  process.stdout.write(flags.json ? `${formatJson(bill)}\n` : formatCostReport(bill, measured, prices));
}

function buildWorkload(flags: CostFlags): unknown {
  return {
    nodesPerDay: parseNumber(flags.nodesPerDay),
    clusters: parseNumber(flags.clusters),
    nodesPerCluster: parseNumber(flags.nodesPerCluster),
    nodesPerInvocation: parseNumber(flags.nodesPerInvocation),
    coldShare: parseNumber(flags.coldShare),
    architecture: flags.architecture,
  };
}

/**
 * Returns NaN, which every schema rejects, for anything but a decimal number; JavaScript reads "" as 0 and
 * "0x10" as 16.
 */
function parseNumber(text: string): number {
  return /^-?\d+(\.\d+)?(e\d+)?$/i.test(text) ? Number(text) : Number.NaN;
}

/** `nodesPerDay` → `--nodes-per-day`. */
function formatFlag(key: string): string {
  return `--${key.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

async function readPrices(
  file: string | undefined,
  faults: ConfigurationFault[],
): Promise<Prices | undefined> {
  if (file === undefined) return Prices.parse(bundledPrices);
  const name = `--prices ${file}`;
  try {
    return parseInput(
      Prices,
      JSON.parse(await readFile(file, "utf8")),
      (path) => `${name}, ${path || "document"}`,
      faults,
    );
  } catch (error) {
    const message =
      error instanceof SyntaxError
        ? "is not JSON"
        : error instanceof Error
          ? error.message
          : "cannot be read";
    faults.push({ name, message });
    return undefined;
  }
}

function parseInput<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  nameOf: (path: string) => string,
  faults: ConfigurationFault[],
): z.output<Schema> | undefined {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  faults.push(...listFaults(result.error).map(({ path, message }) => ({ name: nameOf(path), message })));
  return undefined;
}

/** Rounds numbers to a millionth, which hides the errors of binary fractions. */
function formatJson(bill: Bill): string {
  const rounded = (_key: string, value: unknown): unknown =>
    typeof value === "number" ? Number(value.toFixed(6)) : value;
  return JSON.stringify(bill, rounded, 2);
}
