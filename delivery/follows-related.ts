import type { ApiObject, Watch } from "#core/controller.ts";

/** Whether an object is looked at when related objects change: it reads some, and its controller is one that does so. */
export function followsRelated<T extends ApiObject>({ looks, related }: Watch<T>, object: T): boolean {
  if (looks?.whenRelatedChange !== true) return false;
  return related.some((each) => {
    const reads = each.reads(object);
    return reads === "all" || reads.length > 0;
  });
}
