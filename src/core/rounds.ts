import * as z from "zod";

/**
 * The time at which a batch is decided, and the process whose clock it is. It travels with the batch, so that
 * all its rounds have one time.
 */
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

/**
 * The state under which a batch is decided in a cluster whose relay writes: the relay reads it, because the
 * function cannot.
 */
export const Round = z.object({
  moment: Moment,
  state: State,
  /** Set if the function requested it. */
  count: Count.optional(),
});
export type Round = z.output<typeof Round>;

/** Seconds for which a moment is valid: a deletion intent from that time has expired afterwards. */
const MOMENT_SECONDS = 60;

/** Returns whether decisions may still use this moment. */
export function isLasting({ now }: Moment, at: Date): boolean {
  return Math.abs(at.getTime() - Date.parse(now)) <= MOMENT_SECONDS * 1_000;
}
