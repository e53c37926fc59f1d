import * as z from "zod";
import { Because, ClusterWrite, Decision } from "#core/decision.ts";
import { MAX_BATCH_OBJECTS } from "#core/event.ts";
import { Moment } from "#core/rounds.ts";

const Collection = z.object({ apiVersion: z.string().min(1), name: z.string().min(1) });

/** What is to be done next, for whoever can reach the cluster. */
const Next = z.discriminatedUnion("kind", [
  /** Carry these out; objects of the event that are not among them have an entry in the report already. */
  z.object({
    kind: z.literal("decisions"),
    items: z
      .array(z.object({ index: z.int().min(0), decision: Decision }))
      .min(1)
      .max(MAX_BATCH_OBJECTS),
  }),
  /** Write this, for which all objects wait; then read them and what they are decided under, and ask again. */
  z.object({ kind: z.literal("shared"), because: Because, write: ClusterWrite }),
  /** Read what they are decided under, and ask again. */
  z.object({
    kind: z.literal("read"),
    state: Collection.extend({
      at: z.object({ namespace: z.string().min(1).optional(), name: z.string().min(1) }),
    }),
    counted: Collection.optional(),
  }),
]);

/** What a function decided in a cluster that it cannot write to, as data: nothing of it is done yet. */
export const HandedBack = z.object({ moment: Moment, next: Next });
export type HandedBack = z.output<typeof HandedBack>;
