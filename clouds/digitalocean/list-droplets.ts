import { Droplet, DropletsPage } from "#clouds/digitalocean/droplet.ts";
import type { Api, Turn } from "#clouds/http/api.ts";
import type { Fault, Outcome } from "#clouds/http/outcome.ts";
import { allPages, type NumberedPage } from "#clouds/listed/all-pages.ts";
import { createListing, type Listing } from "#clouds/listed/listing.ts";
import { fault, ok } from "#clouds/outcome.ts";

/** What narrows a list. The API leaves GPU droplets out of a list without a type, and takes no tag beside one. */
export type DropletFilter = { readonly tag: string | undefined } | { readonly type: "gpus" };

/** The most that a page may hold, … */
const PAGE_SIZE = 200;
/** … and how many pages are looked at, which are 10,000 droplets. */
const MAX_PAGES = 50;

/** The droplets of the account, all pages; where one fails, those of the others and the fault. */
export async function listDroplets(
  api: Api,
  filter: DropletFilter,
  turn: Turn,
  now: () => number,
): Promise<Listing<Droplet>> {
  const startedAt = now();
  const fetch = (page: number) => fetchPage(api, filter, page, turn);
  const { entries, ...rest } = await allPages(fetch, { mostPages: MAX_PAGES, tooMany, nameless });
  return createListing({ startedAt, machines: entries, addressesOf, ...rest });
}

/** IPv4 alone, private or public: no node can be called after an IPv6 address. */
function addressesOf({ networks }: Droplet): readonly string[] {
  return networks?.v4.map((each) => each.ip_address) ?? [];
}

/** A few droplets of the first page, for what their being there proves. */
export async function listFew(
  api: Api,
  filter: DropletFilter,
  turn: Turn,
): Promise<Outcome<readonly Droplet[]>> {
  const answer = await fetchPage(api, filter, 1, turn, FEW);
  return answer.kind === "fault" ? answer : ok(answer.value.entries);
}

const FEW = 20;

const TEMPLATE = "GET /v2/droplets";

async function fetchPage(
  api: Api,
  filter: DropletFilter,
  page: number,
  turn: Turn,
  size = PAGE_SIZE,
): Promise<Outcome<NumberedPage<Droplet>>> {
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
  const lastPage = Math.ceil((meta?.total ?? 0) / size);
  return ok({ entries: droplets, unreadable, hasNext: links.pages?.next !== undefined, lastPage });
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
