import * as z from "zod";

/** A price as its seller publishes it: dollars for one of a unit, where that was read, and when. */
function price<Unit extends string>(unit: Unit) {
  return z.strictObject({
    usd: z.number().nonnegative(),
    per: z.literal(unit),
    source: z.string().min(1),
    read: z.iso.date(),
  });
}

const FunctionPrices = z.strictObject({ gbSecond: price("GB-second"), request: price("request") });
const ComputePrices = z.strictObject({ vcpuHour: price("vCPU-hour"), gbHour: price("GB-hour") });

/** A processor architecture as Lambda names it. */
export const Architecture = z.enum(["arm64", "x86_64"]);
export type Architecture = z.output<typeof Architecture>;

/** An amount of compute that can be bought. */
export const TaskSize = z.strictObject({ vcpu: z.number().positive(), gb: z.number().positive() });
export type TaskSize = z.output<typeof TaskSize>;

/** What the cost model knows of the world outside: what cli/cost/prices.json holds, and a file of --prices. */
export const Prices = z.strictObject({
  region: z.string().min(1),
  lambda: z.strictObject({ arm64: FunctionPrices, x86_64: FunctionPrices }),
  /** Of all that runs all the time: the relay, and in its place a stock controller for each cluster. */
  fargate: z.strictObject({
    arm64: ComputePrices,
    x86_64: ComputePrices,
    /** The sizes that a task comes in, in any order. */
    taskSizes: z.array(TaskSize).min(1),
  }),
  logs: z.strictObject({ gbIngested: price("GB") }),
  /** What metrics cost is left out without it. */
  metrics: z
    .strictObject({
      /** Of a service that keeps Prometheus' samples, the first so many of a month … */
      firstSamples: z.number().positive(),
      sample: price("10 million samples"),
      /** … and those beyond. */
      furtherSample: price("10 million samples"),
      cloudWatchMetric: price("metric and month"),
      cloudWatchAlarm: price("alarm and month"),
    })
    .optional(),
  /** The CPU that the stock controller's own chart reserves for a pod; it reserves no memory. */
  stockRequest: z.strictObject({
    vcpu: z.number().nonnegative(),
    source: z.string().min(1),
    read: z.iso.date(),
  }),
});
export type Prices = z.output<typeof Prices>;
