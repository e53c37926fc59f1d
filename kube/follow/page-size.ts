/** Objects a page; small enough for one page to be parsed without a pause that anybody notices. */
const PAGE_LIMIT = 500;

/** How many objects to ask for at a time, by what came of it before. */
export interface PageSize {
  limit(): number;
  /** So many are too many; false where it was one. */
  halve(): boolean;
  /** A page was read, which might have had so many bytes. */
  fits(objects: number, characters: number, maxBytes: number): void;
}

/** Twice a page of this part of the limit is still read with ease … */
const GROWS_BELOW = 1 / 3;
/** … but one that fails may cost as much as all these together, where a few objects among many are large. */
const GROWS_AFTER_PAGES = 8;

/** Begins with pages of 500, or of the given size, and they never grow beyond. */
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
      // A page that was not full says nothing about a larger one.
      if (objects < limit || characters > maxBytes * GROWS_BELOW) return;
      fitting += 1;
      if (fitting < GROWS_AFTER_PAGES) return;
      fitting = 0;
      limit = Math.min(largest, limit * 2);
    },
  };
}
