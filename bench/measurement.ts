import * as z from "zod";

/** The contenders, in the order of a round. */
export const CONTENDERS = [
  "floor",
  "floor-with-events",
  "stock-defaults",
  "stock-tuned",
  "run",
  "lambda",
  "lambda-8",
] as const;
export const ContenderName = z.enum(CONTENDERS);
export type ContenderName = z.output<typeof ContenderName>;

/**
 * How nodes arrive: before the contender starts, all at once while it watches, or at a rate while it watches.
 */
export const Arrival = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("there") }),
  z.strictObject({ kind: z.literal("at-once") }),
  z.strictObject({ kind: z.literal("rate"), nodesPerSecond: z.number().positive() }),
]);
export type Arrival = z.output<typeof Arrival>;

/** One situation for contenders. */
export const Row = z.strictObject({
  /** Such as `1000-at-once`; names the row on the command line. */
  id: z.string(),
  nodes: z.int().positive(),
  /** Whether nodes register with a provider ID, as kubelets with --provider-id do. */
  providerIds: z.boolean(),
  arrival: Arrival,
  /** Seconds before its registration in which a NodeClaim announces each node; absent without any. */
  announcedSeconds: z.number().positive().optional(),
});
export type Row = z.output<typeof Row>;

const count = z.int().nonnegative();

/** One contender's result in one row, once. */
export const Measurement = z.strictObject({
  row: z.string(),
  contender: ContenderName,
  /** From 0. */
  repetition: count,
  /**
   * For each node that came up: milliseconds from its registration to schedulable, both seen by one watch;
   * ascending.
   */
  latenciesMs: z.array(z.number().nonnegative()),
  /**
   * Milliseconds from the first registration (arrival `there`: from the contender's start) to the last node
   * schedulable.
   */
  totalMs: z.number().nonnegative(),
  /** Milliseconds of the registrations; 0 if the nodes existed before. */
  registeringMs: z.number().nonnegative(),
  /** Nodes that had a version without the taint and without an InternalIP or ExternalIP. */
  nakedNodes: count,
  /** Nodes that were not up at the time limit. */
  missingNodes: count,
  /** The contender's requests, from the API server's audit log. */
  nodeWrites: count,
  nodeReads: count,
  eventWrites: count,
  /** Requests of any kind answered 429. */
  tooManyRequests: count,
  /** Calls to EC2, including throttled ones. */
  cloudCalls: count,
  cloudThrottled: count,
  /**
   * CPU seconds, user and system, from the first registration (`there`: from the start) to the last node
   * schedulable.
   */
  cpuSeconds: z.strictObject({
    contender: z.number().nonnegative(),
    kubeApiserver: z.number().nonnegative(),
    etcd: z.number().nonnegative(),
  }),
  /** The largest resident set in MiB of the contender's permanent process (for `lambda` the relay). */
  peakMemoryMiB: z.number().nonnegative(),
  /** The machine's load average over one minute, at the beginning of the run. */
  loadAverage: z.number().nonnegative(),
});
export type Measurement = z.output<typeof Measurement>;

/** The machine and the programs of a bench run. */
export const Machine = z.strictObject({
  startedAt: z.iso.datetime(),
  cpu: z.string(),
  cores: z.int().positive(),
  memoryGiB: z.number().positive(),
  kernel: z.string(),
  /** Program → version: node, go, kube-apiserver, etcd, aws-cloud-controller-manager, serverless-ccm (its commit). */
  versions: z.record(z.string(), z.string()),
  /** The latency of the EC2 endpoint. */
  cloudLatencyMs: z.number().nonnegative(),
});
export type Machine = z.output<typeof Machine>;

/** A complete bench run, the content of `bench/results.json`. */
export const Results = z.strictObject({
  machine: Machine,
  rows: z.array(Row),
  measurements: z.array(Measurement),
  /** Facts that a reader needs in addition to the numbers, such as why a contender is absent from a row. */
  notes: z.array(z.string()).optional(),
});
export type Results = z.output<typeof Results>;
