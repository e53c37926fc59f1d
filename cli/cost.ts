import { readFile } from "node:fs/promises";
import type * as z from "zod";
import { ConfigurationError, type ConfigurationFault } from "#cli/configuration-error.ts";
import { type Bill, billOf } from "#cli/cost/bill.ts";
import { costReport } from "#cli/cost/cost-report.ts";
import bundledMeasured from "#cli/cost/measured.json" with { type: "json" };
import { Measured } from "#cli/cost/measured.ts";
import bundledPrices from "#cli/cost/prices.json" with { type: "json" };
import { Prices } from "#cli/cost/prices.ts";
import { Workload } from "#cli/cost/workload.ts";
import { faultsOf } from "#core/faults.ts";

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

/** Prints what nodes and clusters cost, as a table or as JSON. Throws `ConfigurationError` with all faults of flags and file. */
export async function cost(flags: CostFlags, output: NodeJS.WritableStream): Promise<void> {
  const faults: ConfigurationFault[] = [];
  const workload = parsed(Workload, workloadOf(flags), flagOf, faults);
  const prices = await readPrices(flags.prices, faults);
  const measured = Measured.parse(bundledMeasured);
  if (workload === undefined || prices === undefined) throw new ConfigurationError(faults);
  const bill = billOf(workload, measured, prices);
  output.write(flags.json ? `${jsonOf(bill)}\n` : costReport(bill, measured, prices));
}

function workloadOf(flags: CostFlags): unknown {
  return {
    nodesPerDay: numberOf(flags.nodesPerDay),
    clusters: numberOf(flags.clusters),
    nodesPerCluster: numberOf(flags.nodesPerCluster),
    nodesPerInvocation: numberOf(flags.nodesPerInvocation),
    coldShare: numberOf(flags.coldShare),
    architecture: flags.architecture,
  };
}

/** NaN, which no schema takes, for what is not a decimal number; JavaScript itself reads "" as 0 and "0x10" as 16. */
function numberOf(text: string): number {
  return /^-?\d+(\.\d+)?(e\d+)?$/i.test(text) ? Number(text) : Number.NaN;
}

/** `nodesPerDay` → `--nodes-per-day`. */
function flagOf(key: string): string {
  return `--${key.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

async function readPrices(
  file: string | undefined,
  faults: ConfigurationFault[],
): Promise<Prices | undefined> {
  if (file === undefined) return Prices.parse(bundledPrices);
  const name = `--prices ${file}`;
  try {
    return parsed(
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

function parsed<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  nameOf: (path: string) => string,
  faults: ConfigurationFault[],
): z.output<Schema> | undefined {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  faults.push(...faultsOf(result.error).map(({ path, message }) => ({ name: nameOf(path), message })));
  return undefined;
}

/** Numbers to a millionth: what binary fractions leave behind that is nobody's dollar. */
function jsonOf(bill: Bill): string {
  const rounded = (_key: string, value: unknown): unknown =>
    typeof value === "number" ? Number(value.toFixed(6)) : value;
  return JSON.stringify(bill, rounded, 2);
}
