import type { Measured } from "#cli/cost/measured.ts";
import type { Architecture, Prices, TaskSize } from "#cli/cost/prices.ts";

/** Hours of a month, as clouds' price lists count them: a twelfth of 365 days. */
export const HOURS_PER_MONTH = 730;

const MIB_PER_GB = 1024;

/** The part of a relay's memory and CPU that its clusters may take while nothing joins; the rest is for when something does. */
export const FILLED = 0.5;

/** Tasks that run all the time. */
export interface Tasks {
  readonly count: number;
  readonly size: TaskSize;
  /** Dollars a month for all of them. */
  readonly usd: number;
}

/** Dollars a month for so much CPU and memory, reserved all the time. */
export function reservedUsd(
  { vcpu, gb }: { readonly vcpu: number; readonly gb: number },
  prices: Prices,
  architecture: Architecture,
): number {
  const { vcpuHour, gbHour } = prices.fargate[architecture];
  return HOURS_PER_MONTH * (vcpu * vcpuHour.usd + gb * gbHour.usd);
}

/** The cheapest tasks in which relays follow so many clusters; clusters are divided among relays where one task is too small. */
export function relayTasks(
  clusters: number,
  relay: Measured["relay"],
  prices: Prices,
  architecture: Architecture,
): Tasks {
  const offers = prices.fargate.taskSizes.map((size): Tasks => {
    const count = Math.ceil(clusters / clustersIn(size, relay));
    return { count, size, usd: count * reservedUsd(size, prices, architecture) };
  });
  const [first, ...others] = offers;
  if (first === undefined) throw new RangeError("there are no sizes of tasks");
  return others.reduce((best, offer) => (offer.usd < best.usd ? offer : best), first);
}

/** How many clusters a relay of this size follows, on the straight line through what was measured; at least one. */
export function clustersIn({ vcpu, gb }: TaskSize, { few, many }: Measured["relay"]): number {
  const on = (key: "memoryMiB" | "cpuShare", limit: number): number => {
    const perCluster = (many[key] - few[key]) / (many.clusters - few.clusters);
    return few.clusters + (perCluster > 0 ? (limit - few[key]) / perCluster : Number.POSITIVE_INFINITY);
  };
  const room = Math.min(on("memoryMiB", gb * MIB_PER_GB * FILLED), on("cpuShare", vcpu * FILLED));
  return Math.max(1, Math.floor(room));
}
