import * as z from "zod";

/** The one moment at which a batch is decided, and by whose clock; handed back and forth, so that all its rounds have the same. */
export const Moment = z.object({ now: z.iso.datetime(), clock: z.string().min(1).max(16) });
export type Moment = z.output<typeof Moment>;

const State = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("object"), object: z.unknown() }),
  z.object({ kind: z.literal("absent") }),
  z.object({ kind: z.literal("unreadable"), message: z.string().max(2_000) }),
]);

const Count = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("count"), count: z.int().min(0) }),
  z.object({ kind: z.literal("unknown"), message: z.string().max(2_000) }),
]);

/** What a batch is decided under in a cluster whose relay writes: the relay has read it, since the function cannot. */
export const Round = z.object({
  moment: Moment,
  state: State,
  /** Where the function asked for it. */
  count: Count.optional(),
});
export type Round = z.output<typeof Round>;

/** Seconds for which a moment is one: an intent to delete that was written at it is nobody's by then. */
const MOMENT_SECONDS = 60;

/** Whether a decision may still be made as at this moment. */
export function isLasting({ now }: Moment, at: Date): boolean {
  return Math.abs(at.getTime() - Date.parse(now)) <= MOMENT_SECONDS * 1_000;
}
