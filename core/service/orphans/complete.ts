import type { DecisionContext } from "#core/controller.ts";
import type { Because } from "#core/decision.ts";
import { SERVICES } from "#core/resources/resource.ts";

/** Whether the event has all Services there are: one that is left out of a list is not one that is gone. */
export function areAllKnown({ related, count }: Pick<DecisionContext, "related" | "count">): boolean {
  return count?.kind === "count" && count.count === related[SERVICES.name]?.items.length;
}

export const INCOMPLETE: Because = {
  code: "ServicesIncomplete",
  message:
    "the API server has another number of Services than are known: nothing counts as orphaned before they agree",
};

/** Seconds after which an audit that did not know all Services is made again. */
export const INCOMPLETE_SECONDS = 60;
