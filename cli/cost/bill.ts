import { getReservedUsd, HOURS_PER_MONTH, selectRelayTasks, type Tasks } from "#cli/cost/always-on.ts";
import {
  computeInvocationCost,
  type FunctionCost,
  type FunctionRates,
  multiplyCost,
} from "#cli/cost/functions.ts";
import type { Measured } from "#cli/cost/measured.ts";
import { computeObserving, type ObservabilityCost } from "#cli/cost/observability.ts";
import type { Prices } from "#cli/cost/prices.ts";
import type { Workload } from "#cli/cost/workload.ts";
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
