import * as z from "zod";
import type { CloudAction } from "#core/decision.ts";

/** The fields that must equal those that the decision read. */
const Guarded = z.object({
  metadata: z.object({
    uid: z.string(),
    generation: z.int().optional(),
    deletionTimestamp: z.string().optional(),
  }),
});

/** A freshly read object with the hash of its content; `content` is absent if it was not requested. */
interface GuardedObject {
  readonly raw: unknown;
  readonly content: string | undefined;
}

/**
 * Returns why a freshly read object is not the one for which a cloud action was decided; undefined if it is.
 */
export function checkGuard(
  { raw, content }: GuardedObject,
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
