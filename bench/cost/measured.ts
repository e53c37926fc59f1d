import * as z from "zod";
import { MAX_BATCH_OBJECTS } from "#core/event.ts";

const ms = z.number().nonnegative();
const count = z.number().nonnegative();
const sentence = z.string().min(1);

/** Wall-clock milliseconds, and CPU milliseconds of all threads at the speed of the measuring machine. */
export const Timing = z.strictObject({ wallMs: ms, cpuMs: ms });
export type Timing = z.output<typeof Timing>;

/** The measured invocation with this many nodes. */
export const MeasuredInvocation = z.strictObject({
  nodes: z.int().positive(),
  /** In an environment that has run before. */
  warm: Timing,
  /** The first in its environment; without the environment's start. */
  cold: Timing,
  cloudCalls: count,
  /** The lines that the function itself logs. */
  logLines: count,
  logBytes: count,
});
export type MeasuredInvocation = z.output<typeof MeasuredInvocation>;

/** Invocations of one kind by their size, smallest first; sizes between them are interpolated linearly. */
export const MeasuredInvocations = z
  .array(MeasuredInvocation)
  .refine((all) => all.every(({ nodes }, index) => nodes > (all[index - 1]?.nodes ?? 0)), "sizes must rise")
  .refine(
    (all) => all[0]?.nodes === 1 && all.at(-1)?.nodes === MAX_BATCH_OBJECTS,
    `sizes must go from 1 to ${MAX_BATCH_OBJECTS} nodes`,
  );
export type MeasuredInvocations = z.output<typeof MeasuredInvocations>;

/** The deployed function. */
export const MeasuredFunction = z.strictObject({
  /** The memory of the deployed function; a platform bills it and gives CPU in proportion. */
  memoryMB: z.int().positive(),
  /** The largest resident set of all runs. */
  peakMemoryMiB: z.number().positive(),
  /** The latency of each cloud call, as set on the emulated endpoint. */
  cloudLatencyMs: ms,
  /** From the start of the process until the handler is loaded. */
  start: Timing,
  /** Nodes that joined. */
  initialize: MeasuredInvocations,
  /** Initialized nodes without changes. */
  look: MeasuredInvocations,
});
export type MeasuredFunction = z.output<typeof MeasuredFunction>;

/** A process that runs all the time. */
export const MeasuredProcess = z.strictObject({
  /** The largest resident set. */
  memoryMiB: z.number().positive(),
  /** Seconds of CPU in a second. */
  cpuShare: z.number().nonnegative(),
});
export type MeasuredProcess = z.output<typeof MeasuredProcess>;

/** The relay with this many clusters. */
export const MeasuredRelay = z.strictObject({ clusters: z.int().positive(), ...MeasuredProcess.shape });
export type MeasuredRelay = z.output<typeof MeasuredRelay>;

/** The measurements of the cost model: the content of bench/cost/measured.json. */
export const Measured = z.strictObject({
  date: z.iso.date(),
  machine: sentence,
  versions: z.record(z.string(), z.string()),
  function: MeasuredFunction,
  /** The relay while no node joins, with few clusters and with many. */
  relay: z
    .strictObject({
      nodesPerCluster: count,
      seconds: z.number().positive(),
      few: MeasuredRelay,
      many: MeasuredRelay,
    })
    .refine(({ few, many }) => many.clusters > few.clusters, {
      message: "must be more clusters than in few",
      path: ["many", "clusters"],
    }),
  /** The stock cloud-controller-manager while no node joins, one process for one cluster. */
  stock: z.strictObject({ nodes: count, seconds: z.number().positive(), ...MeasuredProcess.shape }),
});
export type Measured = z.output<typeof Measured>;
