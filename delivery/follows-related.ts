import type { ApiObject, Watch } from "#core/controller.ts";

/**
 * Whether an object is checked when related objects change: it reads some, and its controller follows them.
 */
export function isRelatedFollower<T extends ApiObject>(
  { resyncPolicy, related }: Watch<T>,
  object: T,
): boolean {
  if (resyncPolicy?.whenRelatedChange !== true) return false;
  return related.some((each) => {
    const reads = each.reads(object);
    return reads === "all" || reads.length > 0;
  });
}
