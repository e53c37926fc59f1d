import type { Fault, Outcome } from "#clouds/http/outcome.ts";

/** One page of a list whose pages have numbers. */
export interface NumberedPage<Entry> {
  readonly entries: readonly Entry[];
  /** Entries that have no id, or no name. */
  readonly unreadable: number;
  readonly hasNext: boolean;
  /** The number of the last one, as far as this page says; 0 where it says nothing. */
  readonly lastPage: number;
}

/** How a list is read. */
export interface AllPagesOptions {
  /** How many pages are looked at. */
  readonly mostPages: number;
  /** What it means that there are more. */
  readonly tooMany: () => Fault;
  /** What it means that so many entries cannot be told apart. */
  readonly nameless: (count: number) => Fault;
}

/** All that there is; where a page failed, what the others have and the fault. */
export interface AllPages<Entry> {
  readonly entries: readonly Entry[];
  readonly pages: number;
  readonly incomplete: Fault | undefined;
}

/** How many pages are asked for at a time, once the first has said how many there are. */
const PAGES_AT_ONCE = 4;

/** Reads a list from its first page to its last. `fetch` never rejects. */
export async function allPages<Entry>(
  fetch: (page: number) => Promise<Outcome<NumberedPage<Entry>>>,
  { mostPages, tooMany, nameless }: AllPagesOptions,
): Promise<AllPages<Entry>> {
  const entries: Entry[] = [];
  const faults: Fault[] = [];
  let unreadable = 0;
  let pages = 0;

  /** Undefined where the page failed. */
  const take = async (page: number): Promise<NumberedPage<Entry> | undefined> => {
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

  let last = await take(1);
  let next = 2;
  while (last?.hasNext === true && next <= mostPages && faults.length === 0) {
    const until = Math.min(Math.max(last.lastPage, next), mostPages, next + PAGES_AT_ONCE - 1);
    const taken = await Promise.all(
      Array.from({ length: until - next + 1 }, (_, index) => take(next + index)),
    );
    last = taken.at(-1);
    next = until + 1;
  }
  if (last?.hasNext === true && faults.length === 0) faults.push(tooMany());
  if (unreadable > 0) faults.push(nameless(unreadable));
  return { entries, pages, incomplete: faults[0] };
}
