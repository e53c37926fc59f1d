import type { FollowBounds } from "#kube/follow/bounds.ts";
import type { Clock } from "#kube/follow/clock.ts";
import { limitMet, type RequestFailure } from "#kube/follow/request-failure.ts";

/** The remaining budget of one whole list, restarts included. */
export interface ListBudget {
  /** Returns why the next page is not requested, if so. */
  refuses(): RequestFailure | undefined;
  /** Counts a page of this many characters. */
  spend(characters: number): void;
}

/** Creates a budget that starts now; without a clock it has no time limit. */
export function createListBudget(bounds: FollowBounds, path: string, clock: Clock | undefined): ListBudget {
  const startedMs = clock?.now() ?? 0;
  let pages = 0;
  let characters = 0;
  return {
    spend(more) {
      pages += 1;
      characters += more;
    },
    refuses() {
      const seconds = ((clock?.now() ?? startedMs) - startedMs) / 1_000;
      if (pages >= bounds.listPages)
        return limitMet("listPages", `the list of ${path} goes on after ${pages} pages${RAISE}`);
      if (characters > bounds.listBytes)
        return limitMet("listBytes", `the list of ${path} goes on after ${characters} bytes${RAISE}`);
      if (seconds > bounds.listSeconds)
        return limitMet("listSeconds", `the list of ${path} goes on after ${Math.round(seconds)} s${RAISE}`);
      return undefined;
    },
  };
}

const RAISE = "; raise the cluster's limit if that is as it should be";
