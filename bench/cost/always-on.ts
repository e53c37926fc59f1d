import type { Measured } from "#bench/cost/measured.ts";
import type { Architecture, Prices, TaskSize } from "#bench/cost/prices.ts";

/** The hours of a month in the clouds' price lists: a twelfth of 365 days. */
export const HOURS_PER_MONTH = 730;

const MIB_PER_GB = 1024;

/**
 * The part of a relay's memory and CPU that its clusters may use while no node joins; the rest is for joins.
 */
export const FILLED = 0.5;

/** Tasks that run all the time. */
export interface Tasks {
  readonly count: number;
  readonly size: TaskSize;
  /** Dollars a month for all of them. */
  readonly usd: number;
}

/** Returns dollars a month for this much CPU and memory, reserved all the time. */
export function getReservedUsd(
  { vcpu, gb }: { readonly vcpu: number; readonly gb: number },
  prices: Prices,
  architecture: Architecture,
): number {
  const { vcpuHour, gbHour } = prices.fargate[architecture];
  return HOURS_PER_MONTH * (vcpu * vcpuHour.usd + gb * gbHour.usd);
}

/**
 * Selects the cheapest tasks in which relays follow this many clusters. Several relays divide the clusters if
 * one task is too small.
 */
export function selectRelayTasks(
  clusters: number,
  relay: Measured["relay"],
  prices: Prices,
  architecture: Architecture,
): Tasks {
  const offers = prices.fargate.taskSizes.map((size): Tasks => {
    const count = Math.ceil(clusters / countClustersPerTask(size, relay));
    return { count, size, usd: count * getReservedUsd(size, prices, architecture) };
  });
  const [first, ...others] = offers;
  if (first === undefined) throw new RangeError("there are no sizes of tasks");
  return others.reduce((best, offer) => (offer.usd < best.usd ? offer : best), first);
}

/**
 * Returns how many clusters a relay of this size follows, by linear interpolation of the measurements; at
 * least one.
 */
export function countClustersPerTask({ vcpu, gb }: TaskSize, { few, many }: Measured["relay"]): number {
  const on = (key: "memoryMiB" | "cpuShare", limit: number): number => {
    const perCluster = (many[key] - few[key]) / (many.clusters - few.clusters);
    return few.clusters + (perCluster > 0 ? (limit - few[key]) / perCluster : Number.POSITIVE_INFINITY);
  };
  const room = Math.min(on("memoryMiB", gb * MIB_PER_GB * FILLED), on("cpuShare", vcpu * FILLED));
  return Math.max(1, Math.floor(room));
}
