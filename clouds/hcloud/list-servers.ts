import { Server, ServersPage } from "#clouds/hcloud/server.ts";
import type { Api } from "#clouds/http/api.ts";
import type { CallContext } from "#clouds/http/call-context.ts";
import type { Fault, Outcome } from "#clouds/http/outcome.ts";
import { type NumberedPage, readAllPages } from "#clouds/listed/all-pages.ts";
import { createListing, type Listing } from "#clouds/listed/listing.ts";
import { fault, ok } from "#clouds/outcome.ts";

/** Hetzner's largest page. */
const PAGE_SIZE = 50;
/** Maximum pages read, which is 10,000 servers. */
const MAX_PAGES = 200;

/**
 * Lists the project's servers that match the selector, on all pages. If a page fails, returns the other pages
 * and the fault.
 */
export async function listServers(
  api: Api,
  labelSelector: string | undefined,
  callContext: CallContext,
  now: () => number,
): Promise<Listing<Server>> {
  const startedAt = now();
  const fetch = (page: number) => fetchPage(api, { labelSelector, page, size: PAGE_SIZE }, callContext);
  const { entries, ...rest } = await readAllPages(fetch, {
    maxPages: MAX_PAGES,
    buildTooManyFault,
    buildUnreadableFault,
  });
  return createListing({ startedAt, machines: entries, ...rest });
}

/** Lists a few servers of the first page, for a visibility probe. */
export async function listFew(
  api: Api,
  labelSelector: string | undefined,
  callContext: CallContext,
): Promise<Outcome<readonly Server[]>> {
  const answer = await fetchPage(api, { labelSelector, page: 1, size: FEW }, callContext);
  return answer.kind === "fault" ? answer : ok(answer.value.entries);
}

const FEW = 20;

interface PageQuery {
  readonly labelSelector: string | undefined;
  readonly page: number;
  readonly size: number;
}

const TEMPLATE = "GET /servers";

async function fetchPage(
  api: Api,
  { labelSelector, page, size }: PageQuery,
  callContext: CallContext,
): Promise<Outcome<NumberedPage<Server>>> {
  const filterParameters = labelSelector === undefined ? {} : { label_selector: labelSelector };
  const query = new URLSearchParams({
    page: String(page),
    per_page: String(size),
    sort: "id:asc",
    ...filterParameters,
  });
  const request = { operation: "servers_list", template: TEMPLATE, path: `/servers?${query}` };
  const answer = await api.get(request, callContext);
  if (answer.kind === "fault") return answer;
  const parsed = ServersPage.safeParse(answer.value);
  if (!parsed.success) return fault("Unavailable", `${TEMPLATE}: the answer is not a list of servers`);
  const { servers: entries, meta } = parsed.data;
  const { next_page: nextPage, last_page: lastPage } = meta.pagination;
  if (nextPage !== null && nextPage !== page + 1)
    return fault("Unavailable", `${TEMPLATE}: after page ${page} the answer names page ${nextPage}`);
  const servers = entries.flatMap((entry) => Server.safeParse(entry).data ?? []);
  const unreadable = entries.length - servers.length;
  return ok({ entries: servers, unreadable, hasNext: nextPage !== null, lastPage: lastPage ?? 0 });
}

function buildTooManyFault(): Fault {
  const message = `${TEMPLATE}: more than ${MAX_PAGES} pages, the rest is not read; a labelSelector makes the list shorter`;
  return { code: "Unavailable", message };
}

function buildUnreadableFault(count: number): Fault {
  return {
    code: "Unavailable",
    message: `${TEMPLATE}: the answer holds ${count} servers without id or name`,
  };
}
