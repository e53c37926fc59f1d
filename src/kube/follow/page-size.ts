import type { FollowBounds } from "#kube/follow/bounds.ts";
import type { Clock } from "#kube/follow/clock.ts";
import { limitMet, type RequestFailure } from "#kube/follow/request-failure.ts";

/** Objects a page; small enough to parse a page without a noticeable pause. */
const PAGE_LIMIT = 500;

/** The number of objects to request at a time, adapted to earlier pages. */
export interface PageSize {
  limit(): number;
  /** Halves the size; false if it was already one. */
  halve(): boolean;
  /** Records a page that was read, and the bytes that it might have had. */
  fits(objects: number, characters: number, maxBytes: number): void;
}

/** A page below this part of the limit may double: the next one is still easy to read. */
const GROWS_BELOW = 1 / 3;

/** Pages grow only after so many easy ones: if a few objects are large, one failed page costs as much as all these. */
const GROWS_AFTER_PAGES = 8;

/** Starts with pages of 500 or of the given size, and never exceeds it. */
export function createPageSize(largest = PAGE_LIMIT): PageSize {
  let limit = largest;
  let fitting = 0;
  return {
    limit: () => limit,
    halve() {
      fitting = 0;
      if (limit === 1) return false;
      limit = Math.floor(limit / 2);
      return true;
    },
    fits(objects, characters, maxBytes) {
      // A page that was not full proves nothing about a larger one.
      if (objects < limit || characters > maxBytes * GROWS_BELOW) return;
      fitting += 1;
      if (fitting < GROWS_AFTER_PAGES) return;
      fitting = 0;
      limit = Math.min(largest, limit * 2);
    },
  };
}

/** The remaining budget of one whole list, restarts included. */
interface ListBudget {
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
