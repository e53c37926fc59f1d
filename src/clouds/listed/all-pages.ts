import type { Fault, Outcome } from "#clouds/http/outcome.ts";

/** One page of a list with numbered pages. */
export interface NumberedPage<Entry> {
  readonly entries: readonly Entry[];
  /** Number of entries without id or name. */
  readonly unreadable: number;
  readonly hasNext: boolean;
  /** The number of the last page, as far as this page says; 0 if unknown. */
  readonly lastPage: number;
}

/** How a list is read. */
export interface AllPagesOptions {
  /** Maximum pages read. */
  readonly maxPages: number;
  /** The fault of a list with more pages. */
  readonly buildTooManyFault: () => Fault;
  /** The fault of entries without id or name. */
  readonly buildUnreadableFault: (count: number) => Fault;
}

/** All entries; if a page failed, those of the other pages and the fault. */
export interface AllPages<Entry> {
  readonly entries: readonly Entry[];
  readonly pages: number;
  readonly incomplete: Fault | undefined;
}

/** Pages read in parallel, once the first has the number of pages. */
const PAGES_AT_ONCE = 4;

/** Reads a list from its first page to its last. `fetch` never rejects. */
export async function readAllPages<Entry>(
  fetch: (page: number) => Promise<Outcome<NumberedPage<Entry>>>,
  { maxPages, buildTooManyFault, buildUnreadableFault }: AllPagesOptions,
): Promise<AllPages<Entry>> {
  const entries: Entry[] = [];
  const faults: Fault[] = [];
  let unreadable = 0;
  let pages = 0;

  /** Undefined if the page failed. */
  const readPage = async (page: number): Promise<NumberedPage<Entry> | undefined> => {
    const answer = await fetch(page);
    if (answer.kind === "fault") {
      faults.push(answer.fault);
      return undefined;
    }
    pages += 1;
    entries.push(...answer.value.entries);
    unreadable += answer.value.unreadable;
    return answer.value;
  };

  let last = await readPage(1);
  let next = 2;
  while (last?.hasNext === true && next <= maxPages && faults.length === 0) {
    const until = Math.min(Math.max(last.lastPage, next), maxPages, next + PAGES_AT_ONCE - 1);
    const batch = await Promise.all(
      Array.from({ length: until - next + 1 }, (_, index) => readPage(next + index)),
    );
    last = batch.at(-1);
    next = until + 1;
  }
  if (last?.hasNext === true && faults.length === 0) faults.push(buildTooManyFault());
  if (unreadable > 0) faults.push(buildUnreadableFault(unreadable));
  return { entries, pages, incomplete: faults[0] };
}
