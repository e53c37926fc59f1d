import * as z from "zod";
import { MAX_BATCH_OBJECTS } from "#core/event.ts";

const ms = z.number().nonnegative();
const count = z.number().nonnegative();
const sentence = z.string().min(1);

/** Milliseconds on the clock, and of CPU at the speed of the machine that measured, all threads together. */
export const Timing = z.strictObject({ wallMs: ms, cpuMs: ms });
export type Timing = z.output<typeof Timing>;

/** What an invocation with this many nodes took. */
export const MeasuredInvocation = z.strictObject({
  nodes: z.int().positive(),
  /** In an environment that has run before. */
  warm: Timing,
  /** The first in its environment; without the start of it. */
  cold: Timing,
  cloudCalls: count,
  /** What the function itself logs. */
  logLines: count,
  logBytes: count,
});
export type MeasuredInvocation = z.output<typeof MeasuredInvocation>;

/** Invocations of one kind by their size, smallest first; sizes between them are taken to lie on the line between. */
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
  /** What it is deployed with; a platform bills this and gives CPU by it. */
  memoryMB: z.int().positive(),
  /** The largest resident set of all that was run. */
  peakMemoryMiB: z.number().positive(),
  /** Of each call to the cloud, as set on the endpoint that answered. */
  cloudLatencyMs: ms,
  /** From the start of the process until the handler is loaded. */
  start: Timing,
  /** Nodes that joined. */
  initialize: MeasuredInvocations,
  /** Initialized nodes of which nothing has changed. */
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

/** The relay with so many clusters. */
export const MeasuredRelay = z.strictObject({ clusters: z.int().positive(), ...MeasuredProcess.shape });
export type MeasuredRelay = z.output<typeof MeasuredRelay>;

/** What the cost model knows of the programs, all of it measured: what cli/cost/measured.json holds. */
export const Measured = z.strictObject({
  date: z.iso.date(),
  machine: sentence,
  versions: z.record(z.string(), z.string()),
  function: MeasuredFunction,
  /** The relay while nothing joins, with few clusters and with many. */
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
  /** The stock cloud-controller-manager while nothing joins, one process for one cluster. */
  stock: z.strictObject({ nodes: count, seconds: z.number().positive(), ...MeasuredProcess.shape }),
});
export type Measured = z.output<typeof Measured>;
