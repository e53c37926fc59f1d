import { readFile } from "node:fs/promises";
import type * as z from "zod";
import { ConfigurationError, type ConfigurationFault } from "#cli/configuration-error.ts";
import { type Bill, computeBill } from "#cli/cost/bill.ts";
import { formatCostReport } from "#cli/cost/cost-report.ts";
import bundledMeasured from "#cli/cost/measured.json" with { type: "json" };
import { Measured } from "#cli/cost/measured.ts";
import bundledPrices from "#cli/cost/prices.json" with { type: "json" };
import { Prices, Workload } from "#cli/cost/prices.ts";
import { listFaults } from "#core/config-errors.ts";

/** The flags of `cost`, as typed. */
export interface CostFlags {
  readonly nodesPerDay: string;
  readonly clusters: string;
  readonly nodesPerCluster: string;
  readonly nodesPerInvocation: string;
  readonly coldShare: string;
  readonly architecture: string;
  readonly prices?: string;
  readonly json?: boolean;
}

/**
 * Prints the cost of nodes and clusters, as a table or as JSON. Throws `ConfigurationError` with all faults
 * of flags and file.
 */
export async function printCost(flags: CostFlags, output: NodeJS.WritableStream): Promise<void> {
  const faults: ConfigurationFault[] = [];
  const workload = parseInput(Workload, buildWorkload(flags), formatFlag, faults);
  const prices = await readPrices(flags.prices, faults);
  const measured = Measured.parse(bundledMeasured);
  if (workload === undefined || prices === undefined) throw new ConfigurationError(faults);
  const bill = computeBill(workload, measured, prices);
  output.write(flags.json ? `${formatJson(bill)}\n` : formatCostReport(bill, measured, prices));
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
