import { Droplet, DropletsPage } from "#clouds/digitalocean/droplet.ts";
import type { Api } from "#clouds/http/api.ts";
import type { CallContext } from "#clouds/http/meter.ts";
import type { Fault, Outcome } from "#clouds/http/outcome.ts";
import { type NumberedPage, readAllPages } from "#clouds/listed/all-pages.ts";
import { createListing, type Listing } from "#clouds/listed/listing.ts";
import { fault, ok } from "#clouds/outcome.ts";

/**
 * The filter of a list. Without a type the API leaves GPU droplets out, and with a type it accepts no tag.
 */
export type DropletFilter = { readonly tag: string | undefined } | { readonly type: "gpus" };

/** The largest page. */
const PAGE_SIZE = 200;
/** Maximum pages read, which is 10,000 droplets. */
const MAX_PAGES = 50;

/** Lists the account's droplets on all pages. If a page fails, returns the other pages and the fault. */
export async function listDroplets(
  api: Api,
  filter: DropletFilter,
  callContext: CallContext,
  now: () => number,
): Promise<Listing<Droplet>> {
  const startedAt = now();
  const fetch = (page: number) => fetchPage(api, filter, page, callContext);
  const { entries, ...rest } = await readAllPages(fetch, {
    maxPages: MAX_PAGES,
    buildTooManyFault,
    buildUnreadableFault,
  });
  return createListing({ startedAt, machines: entries, listAddresses: listAddresses, ...rest });
}

/** Lists IPv4 addresses, private or public: an IPv6 address cannot be a node's name. */
function listAddresses({ networks }: Droplet): readonly string[] {
  return networks?.v4.map((each) => each.ip_address) ?? [];
}

/** Lists a few droplets of the first page, for a visibility probe. */
export async function listFew(
  api: Api,
  filter: DropletFilter,
  callContext: CallContext,
): Promise<Outcome<readonly Droplet[]>> {
  const answer = await fetchPage(api, filter, 1, callContext, FEW);
  return answer.kind === "fault" ? answer : ok(answer.value.entries);
}

const FEW = 20;

const TEMPLATE = "GET /v2/droplets";

async function fetchPage(
  api: Api,
  filter: DropletFilter,
  page: number,
  callContext: CallContext,
  size = PAGE_SIZE,
): Promise<Outcome<NumberedPage<Droplet>>> {
  const filterParameters =
    "type" in filter ? { type: filter.type } : filter.tag === undefined ? {} : { tag_name: filter.tag };
  // The links in an answer name a host and are not followed: we set the page numbers.
  const query = new URLSearchParams({ page: String(page), per_page: String(size), ...filterParameters });
  const request = { operation: "droplets_list", template: TEMPLATE, path: `/v2/droplets?${query}` };
  const answer = await api.get(request, callContext);
  if (answer.kind === "fault") return answer;
  const parsed = DropletsPage.safeParse(answer.value);
  if (!parsed.success) return fault("Unavailable", `${TEMPLATE}: the answer is not a list of droplets`);
  const { droplets: entries, links, meta } = parsed.data;
  const droplets = entries.flatMap((entry) => Droplet.safeParse(entry).data ?? []);
  const unreadable = entries.length - droplets.length;
  const lastPage = Math.ceil((meta?.total ?? 0) / size);
  return ok({ entries: droplets, unreadable, hasNext: links.pages?.next !== undefined, lastPage });
}

function buildTooManyFault(): Fault {
  const message = `${TEMPLATE}: more than ${MAX_PAGES} pages, the rest is not read; a dropletTag makes the list shorter`;
  return { code: "Unavailable", message };
}

function buildUnreadableFault(count: number): Fault {
  return {
    code: "Unavailable",
    message: `${TEMPLATE}: the answer holds ${count} droplets without id or name`,
  };
}
