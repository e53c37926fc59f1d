import { HOURS_PER_MONTH, relayTasks, reservedUsd, type Tasks } from "#cli/cost/always-on.ts";
import { type FunctionCost, type FunctionRates, invocationCost, times } from "#cli/cost/functions.ts";
import type { Measured } from "#cli/cost/measured.ts";
import { type Observing, observingOf } from "#cli/cost/observing.ts";
import type { Prices } from "#cli/cost/prices.ts";
import type { Workload } from "#cli/cost/workload.ts";
import { MAX_BATCH_OBJECTS } from "#core/event.ts";

/** Dollars for a million nodes, each initialized and looked at once more. */
export interface NodesCost {
  readonly nodesPerInvocation: number;
  readonly coldShare: number;
  readonly initializeUsd: number;
  readonly secondLookUsd: number;
  readonly logsUsd: number;
  readonly totalUsd: number;
}

/** Dollars a month for one cluster that no node joins: what it adds to the bill, the relay's own share not included. */
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

/** All that the cost model says; dollars are not rounded. */
export interface Bill {
  readonly workload: Workload;
  /** At the workload's own mean size of a batch. */
  readonly millionNodes: NodesCost;
  /** Other sizes of batches, and at last the worst that can be: each node alone and every invocation cold. */
  readonly millionNodesOtherwise: readonly NodesCost[];
  readonly idleCluster: IdleCluster;
  readonly month: {
    readonly nodes: number;
    /** Of the nodes that join; computeUsd and logsUsd. */
    readonly joining: FunctionCost;
    /** Of the nodes that are there, in all clusters. */
    readonly standing: FunctionCost;
    readonly relay: Tasks;
    readonly totalUsd: number;
  };
  /** Of all clusters; what is among the above, and what comes to it. */
  readonly observing: Observing;
  /** What the chart reserves, and what the process was seen to use. */
  readonly stock: { readonly reserved: StockCost; readonly used: StockCost };
}

/** How often all nodes of a cluster are looked at, in a month: the default of --node-status-update-frequency is five minutes. */
export const LOOKS_PER_MONTH = (HOURS_PER_MONTH * 60) / 5;

const MILLION = 1_000_000;
const DAYS_PER_MONTH = HOURS_PER_MONTH / 24;
const MIB_PER_GB = 1024;

/** The whole model. Arrivals have one shape: batches of the same size, of which the same part is cold. */
export function billOf(workload: Workload, measured: Measured, prices: Prices): Bill {
  const { clusters, nodesPerDay, nodesPerCluster, nodesPerInvocation, coldShare, architecture } = workload;
  const rates: FunctionRates = { measured, prices, architecture, coldShare };
  const nodes = nodesPerDay * DAYS_PER_MONTH;
  const million = millionNodes(nodesPerInvocation, rates);
  const { initializeUsd, secondLookUsd, logsUsd } = million;
  const joining = times(nodes / MILLION, { computeUsd: initializeUsd + secondLookUsd, logsUsd });
  const idleCluster = idleClusterCost(nodesPerCluster, rates);
  const standing = times(clusters, idleCluster);
  const relay = relayTasks(clusters, measured.relay, prices, architecture);
  const requested = { vcpu: prices.stockRequest.vcpu, gb: measured.stock.memoryMiB / MIB_PER_GB };
  const stock = (need: { readonly vcpu: number; readonly gb: number }): StockCost => {
    const clusterUsd = reservedUsd(need, prices, architecture);
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
      ...measured.function.initialize.map((size) => millionNodes(size.nodes, rates)),
      millionNodes(1, { ...rates, coldShare: 1 }),
    ],
    idleCluster,
    month: { nodes, joining, standing, relay, totalUsd: sum(joining) + sum(standing) + relay.usd },
    observing: observingOf(clusters, joining.logsUsd + standing.logsUsd, prices),
    stock: { reserved: stock(requested), used: stock({ ...requested, vcpu: measured.stock.cpuShare }) },
  };
}

/** A node is looked at once more 20 to 60 s after its initialization, at a time of its own: alone, as it is counted here. */
function millionNodes(nodesPerInvocation: number, rates: FunctionRates): NodesCost {
  const initialize = times(
    MILLION / nodesPerInvocation,
    invocationCost("initialize", nodesPerInvocation, rates),
  );
  const look = times(MILLION, invocationCost("look", 1, rates));
  return {
    nodesPerInvocation,
    coldShare: rates.coldShare,
    initializeUsd: initialize.computeUsd,
    secondLookUsd: look.computeUsd,
    logsUsd: initialize.logsUsd + look.logsUsd,
    totalUsd: sum(initialize) + sum(look),
  };
}

/** Looks go in full batches and one with the rest. */
function idleClusterCost(nodes: number, rates: FunctionRates): IdleCluster {
  const full = Math.floor(nodes / MAX_BATCH_OBJECTS);
  const rest = nodes % MAX_BATCH_OBJECTS;
  const parts = [times(full, invocationCost("look", MAX_BATCH_OBJECTS, rates))];
  if (rest > 0) parts.push(invocationCost("look", rest, rates));
  const cost = times(LOOKS_PER_MONTH, parts.reduce(plus));
  return { invocations: LOOKS_PER_MONTH * (full + (rest > 0 ? 1 : 0)), ...cost, totalUsd: sum(cost) };
}

function plus(a: FunctionCost, b: FunctionCost): FunctionCost {
  return { computeUsd: a.computeUsd + b.computeUsd, logsUsd: a.logsUsd + b.logsUsd };
}

function sum({ computeUsd, logsUsd }: FunctionCost): number {
  return computeUsd + logsUsd;
}
