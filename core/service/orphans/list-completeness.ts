import type { DecisionContext } from "#core/controller.ts";
import type { Reason } from "#core/reason.ts";
import { SERVICES } from "#core/resources/resource.ts";

/**
 * Returns whether the event contains all existing Services: a Service missing from a list is not proven to be
 * gone.
 */
export function isServiceListComplete({
  related,
  count,
}: Pick<DecisionContext, "related" | "count">): boolean {
  return count?.kind === "count" && count.count === related[SERVICES.name]?.items.length;
}

export const INCOMPLETE: Reason = {
  code: "ServicesIncomplete",
  message:
    "the API server has another number of Services than are known: nothing counts as orphaned before they agree",
};

/** Seconds until an audit without a complete list of Services is repeated. */
export const INCOMPLETE_SECONDS = 60;
