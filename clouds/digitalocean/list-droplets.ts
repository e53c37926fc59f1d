import { Droplet, DropletsPage } from "#clouds/digitalocean/droplet.ts";
import { createListing, type Listing } from "#clouds/digitalocean/listing.ts";
import type { Api, Turn } from "#clouds/http/api.ts";
import type { Fault, Outcome } from "#clouds/http/outcome.ts";
import { fault, ok } from "#clouds/outcome.ts";

/** What narrows a list. The API leaves GPU droplets out of a list without a type, and takes no tag beside one. */
export type DropletFilter = { readonly tag: string | undefined } | { readonly type: "gpus" };

/** The most that a page may hold, … */
const PAGE_SIZE = 200;
/** … how many pages are looked at, which are 10,000 droplets, … */
const MAX_PAGES = 50;
/** … and how many are asked for at a time, once the first has said how many there are. */
const PAGES_AT_ONCE = 4;

/** The droplets of the account, all pages; where one fails, those of the others and the fault. */
export async function listDroplets(
  api: Api,
  filter: DropletFilter,
  turn: Turn,
  now: () => number,
): Promise<Listing> {
  const startedAt = now();
  const droplets: Droplet[] = [];
  const faults: Fault[] = [];
  let unreadable = 0;
  let pages = 0;

  /** Undefined where the page failed. */
  const fetch = async (page: number): Promise<Page | undefined> => {
    const answer = await fetchPage(api, filter, page, turn);
    if (answer.kind === "fault") {
      faults.push(answer.fault);
      return undefined;
    }
    pages += 1;
    droplets.push(...answer.value.droplets);
    unreadable += answer.value.unreadable;
    return answer.value;
  };

  let last = await fetch(1);
  let next = 2;
  while (last?.hasNext === true && next <= MAX_PAGES && faults.length === 0) {
    const known = Math.min(MAX_PAGES, Math.ceil(last.total / PAGE_SIZE));
    const until = Math.min(Math.max(known, next), next + PAGES_AT_ONCE - 1);
    const fetched = await Promise.all(
      Array.from({ length: until - next + 1 }, (_, index) => fetch(next + index)),
    );
    last = fetched.at(-1);
    next = until + 1;
  }
  if (last?.hasNext === true && faults.length === 0) faults.push(tooMany());
  if (unreadable > 0) faults.push(nameless(unreadable));
  return createListing({ startedAt, pages, droplets, incomplete: faults[0] });
}

/** A few droplets of the first page, for what their being there proves. */
export async function listFew(
  api: Api,
  filter: DropletFilter,
  turn: Turn,
): Promise<Outcome<readonly Droplet[]>> {
  const answer = await fetchPage(api, filter, 1, turn, FEW);
  return answer.kind === "fault" ? answer : ok(answer.value.droplets);
}

const FEW = 20;

interface Page {
  readonly droplets: readonly Droplet[];
  readonly unreadable: number;
  readonly hasNext: boolean;
  /** 0 where it is not said. */
  readonly total: number;
}

const TEMPLATE = "GET /v2/droplets";

async function fetchPage(
  api: Api,
  filter: DropletFilter,
  page: number,
  turn: Turn,
  size = PAGE_SIZE,
): Promise<Outcome<Page>> {
  const narrowed =
    "type" in filter ? { type: filter.type } : filter.tag === undefined ? {} : { tag_name: filter.tag };
  // The links in an answer name a host, and are not followed: page numbers are ours.
  const query = new URLSearchParams({ page: String(page), per_page: String(size), ...narrowed });
  const request = { operation: "droplets_list", template: TEMPLATE, path: `/v2/droplets?${query}` };
  const answer = await api.get(request, turn);
  if (answer.kind === "fault") return answer;
  const parsed = DropletsPage.safeParse(answer.value);
  if (!parsed.success) return fault("Unavailable", `${TEMPLATE}: the answer is not a list of droplets`);
  const { droplets: entries, links, meta } = parsed.data;
  const droplets = entries.flatMap((entry) => Droplet.safeParse(entry).data ?? []);
  const unreadable = entries.length - droplets.length;
  return ok({ droplets, unreadable, hasNext: links.pages?.next !== undefined, total: meta?.total ?? 0 });
}

function tooMany(): Fault {
  const message = `${TEMPLATE}: more than ${MAX_PAGES} pages, not looked at further; a dropletTag makes the list shorter`;
  return { code: "Unavailable", message };
}

function nameless(count: number): Fault {
  return {
    code: "Unavailable",
    message: `${TEMPLATE}: the answer holds ${count} droplets without id or name`,
  };
}
