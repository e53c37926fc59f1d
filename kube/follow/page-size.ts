/** Objects a page; small enough for one page to be parsed without a pause that anybody notices. */
export const PAGE_LIMIT = 500;

/** How many objects to ask for at a time, by what came of it before. */
export interface PageSize {
  limit(): number;
  /** So many are too many; false where it was one. */
  halve(): boolean;
  /** A page was read. */
  fits(objects: number, characters: number): void;
}

/** Twice a page of this size is still read with ease … */
const GROWS_BELOW_CHARACTERS = 16 * 1024 * 1024;
/** … but one that fails may cost as much as all these together, where a few objects among many are large. */
const GROWS_AFTER_PAGES = 8;

/** Begins with pages of 500. */
export function createPageSize(): PageSize {
  let limit = PAGE_LIMIT;
  let fitting = 0;
  return {
    limit: () => limit,
    halve() {
      fitting = 0;
      if (limit === 1) return false;
      limit = Math.floor(limit / 2);
      return true;
    },
    fits(objects, characters) {
      // A page that was not full says nothing about a larger one.
      if (objects < limit || characters > GROWS_BELOW_CHARACTERS) return;
      fitting += 1;
      if (fitting < GROWS_AFTER_PAGES) return;
      fitting = 0;
      limit = Math.min(PAGE_LIMIT, limit * 2);
    },
  };
}
