import * as z from "zod";
import type { CloudAction } from "#core/decision.ts";

/** What an object must have in common with what was decided on. */
const Guarded = z.object({
  metadata: z.object({
    uid: z.string(),
    generation: z.int().optional(),
    deletionTimestamp: z.string().optional(),
  }),
});

/** An object as it was just read, and what stands for its content; without `content` none was asked for. */
interface Guarding {
  readonly raw: unknown;
  readonly content: string | undefined;
}

/** Why an object, as it was just read, is not the one that an action of the cloud was decided for; undefined where it is. */
export function guardOf(
  { raw, content }: Guarding,
  precondition: CloudAction["precondition"],
): string | undefined {
  const parsed = Guarded.safeParse(raw);
  if (!parsed.success) return "the object has no uid by which to know it";
  const { uid, generation, deletionTimestamp } = parsed.data.metadata;
  if (uid !== precondition.uid) return `the object is another one by now, uid ${uid}`;
  if (precondition.generation !== undefined && generation !== precondition.generation) {
    return `the object is of generation ${generation} by now, not ${precondition.generation}`;
  }
  if ((deletionTimestamp !== undefined) !== precondition.deleting)
    return precondition.deleting ? "the object is not being deleted" : "the object is being deleted by now";
  return precondition.content === undefined || precondition.content === content
    ? undefined
    : "the object has another content by now than the action was decided on";
}
