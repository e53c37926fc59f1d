import * as z from "zod";
import { ClusterWrite, Decision } from "#core/decision.ts";
import { MAX_BATCH_OBJECTS } from "#core/event.ts";
import { Reason } from "#core/reason.ts";
import { Moment } from "#core/rounds.ts";

const Collection = z.object({ apiVersion: z.string().min(1), name: z.string().min(1) });

/** The next step for the caller that can reach the cluster. */
const Next = z.discriminatedUnion("kind", [
  /** Carry these out; the event's other objects already have an entry in the report. */
  z.object({
    kind: z.literal("decisions"),
    items: z
      .array(z.object({ index: z.int().min(0), decision: Decision }))
      .min(1)
      .max(MAX_BATCH_OBJECTS),
  }),
  /** Do this write, for which all objects wait; then read them and their shared state, and invoke again. */
  z.object({ kind: z.literal("shared"), because: Reason, write: ClusterWrite }),
  /** Read their shared state, and invoke again. */
  z.object({
    kind: z.literal("read"),
    state: Collection.extend({
      at: z.object({ namespace: z.string().min(1).optional(), name: z.string().min(1) }),
    }),
    counted: Collection.optional(),
  }),
]);

/** A function's decisions for a cluster that it cannot write to, as data: nothing of it is done yet. */
export const DeferredWrites = z.object({ moment: Moment, next: Next });
export type DeferredWrites = z.output<typeof DeferredWrites>;
