import { getBilledMs } from "#cli/cost/billed-ms.ts";
import { interpolateInvocation } from "#cli/cost/interpolate.ts";
import type { Measured } from "#cli/cost/measured.ts";
import type { Architecture, Prices } from "#cli/cost/prices.ts";

/** Dollars for invocations of functions. */
export interface FunctionCost {
  /** GB-seconds and requests. */
  readonly computeUsd: number;
  /** Log ingestion. */
  readonly logsUsd: number;
}

/** The prices of an invocation. */
export interface FunctionRates {
  readonly measured: Measured;
  readonly prices: Prices;
  readonly architecture: Architecture;
  /** The part of the invocations that start a new environment. */
  readonly coldShare: number;
}

/** The lines that Lambda itself logs for an invocation, as an upper estimate: START, END and REPORT. */
export const PLATFORM_LOG_LINES = 3;
export const PLATFORM_LOG_BYTES = 320;

/**
 * The bytes that CloudWatch Logs counts for a line in addition to its text (PutLogEvents' own arithmetic).
 */
export const LOG_LINE_OVERHEAD_BYTES = 26;

const BYTES_PER_GB = 1e9;
const MB_PER_GB = 1024;

/** Returns dollars for one invocation with this many nodes, of which `coldShare` is cold. */
export function computeInvocationCost(
  kind: "initialize" | "look",
  nodes: number,
  rates: FunctionRates,
): FunctionCost {
  const { measured, prices, architecture, coldShare } = rates;
  const { memoryMB, start, [kind]: sizes } = measured.function;
  const { warm, cold, logLines, logBytes } = interpolateInvocation(sizes, nodes);
  const ms =
    (1 - coldShare) * getBilledMs([warm], memoryMB) + coldShare * getBilledMs([start, cold], memoryMB);
  const { gbSecond, request } = prices.lambda[architecture];
  const lines = logLines + PLATFORM_LOG_LINES;
  const bytes = logBytes + PLATFORM_LOG_BYTES + lines * LOG_LINE_OVERHEAD_BYTES;
  return {
    computeUsd: (ms / 1000) * (memoryMB / MB_PER_GB) * gbSecond.usd + request.usd,
    logsUsd: (bytes / BYTES_PER_GB) * prices.logs.gbIngested.usd,
  };
}

/** Returns the cost of this many invocations. */
export function multiplyCost(count: number, { computeUsd, logsUsd }: FunctionCost): FunctionCost {
  return { computeUsd: count * computeUsd, logsUsd: count * logsUsd };
}
