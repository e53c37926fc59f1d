import * as z from "zod";
import { Architecture } from "#cli/cost/prices.ts";
import { MAX_BATCH_OBJECTS } from "#core/event.ts";

/** The workload to price. Limits catch typing errors and do not describe what works. */
export const Workload = z.strictObject({
  /** Nodes that join, all clusters together. */
  nodesPerDay: z.number().min(0).max(100_000_000),
  clusters: z.int().min(1).max(1_000_000),
  /** The nodes of each cluster, which are refreshed again and again. */
  nodesPerCluster: z.int().min(0).max(15_000),
  /** The mean batch size of joining nodes. */
  nodesPerInvocation: z.number().min(1).max(MAX_BATCH_OBJECTS),
  /** The part of the invocations for which the platform starts a new environment. */
  coldShare: z.number().min(0).max(1),
  architecture: Architecture,
});
export type Workload = z.output<typeof Workload>;
