import { getReservedUsd, HOURS_PER_MONTH, selectRelayTasks, type Tasks } from "#bench/cost/always-on.ts";
import type { Measured, MeasuredInvocation, MeasuredInvocations, Timing } from "#bench/cost/measured.ts";
import { computeObserving, type ObservabilityCost } from "#bench/cost/observability.ts";
import type { Architecture, Prices, Workload } from "#bench/cost/prices.ts";
import { MAX_BATCH_OBJECTS } from "#core/event.ts";

/** Dollars for a million nodes, each initialized and resynced once. */
export interface NodesCost {
  readonly nodesPerInvocation: number;
  readonly coldShare: number;
  readonly initializeUsd: number;
  readonly secondLookUsd: number;
  readonly logsUsd: number;
  readonly totalUsd: number;
}

/**
 * Dollars a month for one cluster that no node joins: what it adds to the bill, without the relay's own
 * share.
 */
export interface IdleCluster extends FunctionCost {
  readonly invocations: number;
  readonly totalUsd: number;
}

/** Dollars a month for stock controllers, one for each cluster. */
export interface StockCost {
  readonly vcpu: number;
  readonly gb: number;
  readonly clusterUsd: number;
  readonly onePodEachUsd: number;
  readonly twoPodsEachUsd: number;
}

/** The result of the cost model; dollars are not rounded. */
export interface Bill {
  readonly workload: Workload;
  /** For the workload's own mean batch size. */
  readonly millionNodes: NodesCost;
  /** For other batch sizes; the last is the worst case: each node alone and every invocation cold. */
  readonly millionNodesOtherwise: readonly NodesCost[];
  readonly idleCluster: IdleCluster;
  readonly month: {
    readonly nodes: number;
    /** For nodes that join; computeUsd and logsUsd. */
    readonly joining: FunctionCost;
    /** For existing nodes, in all clusters. */
    readonly standing: FunctionCost;
    readonly relay: Tasks;
    readonly totalUsd: number;
  };
  /** For all clusters: what is included above, and what is added to it. */
  readonly observing: ObservabilityCost;
  /** For what the chart reserves, and for what the process was measured to use. */
  readonly stock: { readonly reserved: StockCost; readonly used: StockCost };
}

/**
 * How often all nodes of a cluster are refreshed in a month; --node-status-update-frequency defaults to five
 * minutes.
 */
export const LOOKS_PER_MONTH = (HOURS_PER_MONTH * 60) / 5;

const MILLION = 1_000_000;

const DAYS_PER_MONTH = HOURS_PER_MONTH / 24;

const MIB_PER_GB = 1024;

/**
 * Computes the whole model. Arrivals have one shape: batches of equal size, of which a constant part is cold.
 */
export function computeBill(workload: Workload, measured: Measured, prices: Prices): Bill {
  const { clusters, nodesPerDay, nodesPerCluster, nodesPerInvocation, coldShare, architecture } = workload;
  const rates: FunctionRates = { measured, prices, architecture, coldShare };
  const nodes = nodesPerDay * DAYS_PER_MONTH;
  const million = computeMillionNodes(nodesPerInvocation, rates);
  const { initializeUsd, secondLookUsd, logsUsd } = million;
  const joining = multiplyCost(nodes / MILLION, { computeUsd: initializeUsd + secondLookUsd, logsUsd });
  const idleCluster = computeIdleCluster(nodesPerCluster, rates);
  const standing = multiplyCost(clusters, idleCluster);
  const relay = selectRelayTasks(clusters, measured.relay, prices, architecture);
  const requested = { vcpu: prices.stockRequest.vcpu, gb: measured.stock.memoryMiB / MIB_PER_GB };
  const stock = (need: { readonly vcpu: number; readonly gb: number }): StockCost => {
    const clusterUsd = getReservedUsd(need, prices, architecture);
    return {
      ...need,
      clusterUsd,
      onePodEachUsd: clusters * clusterUsd,
      twoPodsEachUsd: 2 * clusters * clusterUsd,
    };
  };
  return {
    workload,
    millionNodes: million,
    millionNodesOtherwise: [
      ...measured.function.initialize.map((size) => computeMillionNodes(size.nodes, rates)),
      computeMillionNodes(1, { ...rates, coldShare: 1 }),
    ],
    idleCluster,
    month: { nodes, joining, standing, relay, totalUsd: sum(joining) + sum(standing) + relay.usd },
    observing: computeObserving(clusters, joining.logsUsd + standing.logsUsd, prices),
    stock: { reserved: stock(requested), used: stock({ ...requested, vcpu: measured.stock.cpuShare }) },
  };
}

/**
 * Each node is resynced once, 20 to 60 s after its initialization; here that counts as an invocation of its
 * own.
 */
function computeMillionNodes(nodesPerInvocation: number, rates: FunctionRates): NodesCost {
  const initialize = multiplyCost(
    MILLION / nodesPerInvocation,
    computeInvocationCost("initialize", nodesPerInvocation, rates),
  );
  const look = multiplyCost(MILLION, computeInvocationCost("look", 1, rates));
  return {
    nodesPerInvocation,
    coldShare: rates.coldShare,
    initializeUsd: initialize.computeUsd,
    secondLookUsd: look.computeUsd,
    logsUsd: initialize.logsUsd + look.logsUsd,
    totalUsd: sum(initialize) + sum(look),
  };
}

/** Resyncs go in full batches and one with the rest. */
function computeIdleCluster(nodes: number, rates: FunctionRates): IdleCluster {
  const full = Math.floor(nodes / MAX_BATCH_OBJECTS);
  const rest = nodes % MAX_BATCH_OBJECTS;
  const parts = [multiplyCost(full, computeInvocationCost("look", MAX_BATCH_OBJECTS, rates))];
  if (rest > 0) parts.push(computeInvocationCost("look", rest, rates));
  const cost = multiplyCost(LOOKS_PER_MONTH, parts.reduce(addCosts));
  return { invocations: LOOKS_PER_MONTH * (full + (rest > 0 ? 1 : 0)), ...cost, totalUsd: sum(cost) };
}

function addCosts(a: FunctionCost, b: FunctionCost): FunctionCost {
  return { computeUsd: a.computeUsd + b.computeUsd, logsUsd: a.logsUsd + b.logsUsd };
}

function sum({ computeUsd, logsUsd }: FunctionCost): number {
  return computeUsd + logsUsd;
}

/**
 * The memory, in MB, for which Lambda gives the CPU time of one vCPU; less memory gets proportionally less
 * (Lambda's developer guide).
 */
export const MB_PER_VCPU = 1_769;

/**
 * Returns the milliseconds that a function platform bills for these timings in sequence, with this memory.
 *
 * Waiting takes the same time anywhere; CPU time grows as the platform gives less than one vCPU. The model
 * assumes no overlap and no CPU for starting, so the result is rather too high. It is rounded up once, to a
 * whole millisecond.
 */
export function getBilledMs(timings: readonly Timing[], memoryMB: number): number {
  const vcpus = Math.min(1, memoryMB / MB_PER_VCPU);
  const ms = timings.reduce((sum, { wallMs, cpuMs }) => sum + Math.max(0, wallMs - cpuMs) + cpuMs / vcpus, 0);
  // Binary fractions must not add a millisecond to a whole number.
  return Math.ceil(Number(ms.toFixed(6)));
}

/**
 * Interpolates an invocation of a size that was not measured, linearly between its neighbours; beyond them
 * the outermost counts.
 */
export function interpolateInvocation(measured: MeasuredInvocations, nodes: number): MeasuredInvocation {
  const above = measured.find((each) => each.nodes >= nodes) ?? measured.at(-1);
  const below = measured.findLast((each) => each.nodes <= nodes) ?? above;
  if (above === undefined || below === undefined) throw new RangeError("nothing was measured");
  if (above.nodes <= below.nodes) return { ...above, nodes };
  const part = (nodes - below.nodes) / (above.nodes - below.nodes);
  const between = (from: number, to: number): number => from + part * (to - from);
  const timing = (from: Timing, to: Timing): Timing => ({
    wallMs: between(from.wallMs, to.wallMs),
    cpuMs: between(from.cpuMs, to.cpuMs),
  });
  return {
    nodes,
    warm: timing(below.warm, above.warm),
    cold: timing(below.cold, above.cold),
    cloudCalls: between(below.cloudCalls, above.cloudCalls),
    logLines: between(below.logLines, above.logLines),
    logBytes: between(below.logBytes, above.logBytes),
  };
}

/** Dollars for invocations of functions. */
interface FunctionCost {
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
const PLATFORM_LOG_LINES = 3;

const PLATFORM_LOG_BYTES = 320;

/**
 * The bytes that CloudWatch Logs counts for a line in addition to its text (PutLogEvents' own arithmetic).
 */
const LOG_LINE_OVERHEAD_BYTES = 26;

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
