import * as z from "zod";
import { MAX_BATCH_OBJECTS } from "#core/event.ts";

/** Creates the schema of a price as published: dollars for one unit, its source, and the day it was read. */
function createPriceSchema<Unit extends string>(unit: Unit) {
  return z.strictObject({
    usd: z.number().nonnegative(),
    per: z.literal(unit),
    source: z.string().min(1),
    read: z.iso.date(),
  });
}

const FunctionPrices = z.strictObject({
  gbSecond: createPriceSchema("GB-second"),
  request: createPriceSchema("request"),
});

const ComputePrices = z.strictObject({
  vcpuHour: createPriceSchema("vCPU-hour"),
  gbHour: createPriceSchema("GB-hour"),
});

/** A processor architecture as Lambda names it. */
export const Architecture = z.enum(["arm64", "x86_64"]);
export type Architecture = z.output<typeof Architecture>;

/** A size of compute that can be bought. */
export const TaskSize = z.strictObject({ vcpu: z.number().positive(), gb: z.number().positive() });
export type TaskSize = z.output<typeof TaskSize>;

/** The prices of the cost model: the content of bench/cost/prices.json, and of a file for --prices. */
export const Prices = z.strictObject({
  region: z.string().min(1),
  lambda: z.strictObject({ arm64: FunctionPrices, x86_64: FunctionPrices }),
  /** For everything that runs all the time: the relay, or a stock controller for each cluster. */
  fargate: z.strictObject({
    arm64: ComputePrices,
    x86_64: ComputePrices,
    /** The available sizes of a task, in any order. */
    taskSizes: z.array(TaskSize).min(1),
  }),
  logs: z.strictObject({ gbIngested: createPriceSchema("GB") }),
  /** Without it, the cost of metrics is left out. */
  metrics: z
    .strictObject({
      /** How many samples of a month have the first price, at a service that stores Prometheus' samples. */
      firstSamples: z.number().positive(),
      sample: createPriceSchema("10 million samples"),
      /** The price of samples beyond the first ones. */
      furtherSample: createPriceSchema("10 million samples"),
      cloudWatchMetric: createPriceSchema("metric and month"),
      cloudWatchAlarm: createPriceSchema("alarm and month"),
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

/** The workload to price. Limits catch typing errors and do not describe what works. */
export const Workload = z.strictObject({
  /** Nodes that join, all clusters together. */
  nodesPerDay: z.number().min(0).max(100_000_000),
  clusters: z.int().min(1).max(1_000_000),
  /** The nodes of each cluster, which are refreshed periodically. */
  nodesPerCluster: z.int().min(0).max(15_000),
  /** The mean batch size of joining nodes. */
  nodesPerInvocation: z.number().min(1).max(MAX_BATCH_OBJECTS),
  /** The part of the invocations for which the platform starts a new environment. */
  coldShare: z.number().min(0).max(1),
  architecture: Architecture,
});
export type Workload = z.output<typeof Workload>;
