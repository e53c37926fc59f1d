import * as z from "zod";

const amount = z.number().nonnegative();

/** The usage of one process without work. Memory in MiB, as in `Memory` in bench/idle/memory.ts. */
export const IdleUsage = z.strictObject({
  /** The window, in seconds. */
  seconds: amount,
  /** User and system time, within the window. */
  cpuSeconds: amount,
  /** The median of samples a second apart. */
  residentMiB: amount,
  /** The maximum since the process began. */
  peakMiB: amount,
  /** Both at the window's end. */
  anonymousMiB: amount,
  proportionalMiB: amount,
});
export type IdleUsage = z.output<typeof IdleUsage>;

/** The relay at its start: all nodes exist and none is initialized. */
export const InitializingUsage = z.strictObject({
  /** From the process's start to the last initialized node. */
  seconds: amount,
  cpuSeconds: amount,
  peakMiB: amount,
});
export type InitializingUsage = z.output<typeof InitializingUsage>;

/** One relay and its clusters. */
export const IdleMeasurement = z.strictObject({
  startedAt: z.iso.datetime(),
  cpu: z.string(),
  cores: z.int().positive(),
  /** Node's version. */
  node: z.string(),
  clusters: z.int().positive(),
  /** The number of clusters on kube-apiservers; the others were embedded. */
  kubeApiservers: z.int().nonnegative(),
  nodesEach: z.int().positive(),
  /** Seconds between two status reports of one node. */
  heartbeatSeconds: amount,
  initializing: InitializingUsage,
  /** A relay that found all nodes initialized. */
  idle: IdleUsage,
  /** `process.memoryUsage()` at the end of the window, in MiB. */
  heap: z.strictObject({ totalMiB: amount, usedMiB: amount, externalMiB: amount }),
  /** The stock controller for one of the kube-apiservers. */
  stock: IdleUsage.optional(),
});
export type IdleMeasurement = z.output<typeof IdleMeasurement>;

/** The content of bench/idle.json: the newest measurement for each number of clusters and nodes. */
export const IdleResults = z.strictObject({ measurements: z.array(IdleMeasurement) });
export type IdleResults = z.output<typeof IdleResults>;
