import { HcloudNetwork, isServerId, NetworksPage } from "#clouds/hcloud/server.ts";
import type { Api } from "#clouds/http/api.ts";
import type { CallContext } from "#clouds/http/meter.ts";
import type { Fault, Outcome } from "#clouds/http/outcome.ts";
import { type NumberedPage, readAllPages } from "#clouds/listed/all-pages.ts";
import { fault, ok } from "#clouds/outcome.ts";
import { findNearest } from "#core/nearest.ts";

/** The id of the configured network. */
export interface Network {
  /** Reads the id at intervals if only the name is configured; undefined if no network is configured. */
  readId(callContext: CallContext): Promise<Outcome<string | undefined>>;
}

/** A name may later belong to another network. */
const MAX_AGE_MS = 10 * 60_000;

/** `now` is a monotonic clock in milliseconds. */
export function createNetwork(api: Api, idOrName: string | undefined, now: () => number): Network {
  let cached: { readonly id: string; readonly at: number } | undefined;
  return {
    async readId(callContext) {
      if (idOrName === undefined || isServerId(idOrName)) return ok(idOrName);
      if (cached !== undefined && now() - cached.at < MAX_AGE_MS) return ok(cached.id);
      const found = await findNetwork(api, idOrName, callContext);
      if (found.kind === "ok") cached = { id: found.value, at: now() };
      return found;
    },
  };
}

const PAGE_SIZE = 50;
/** Two pages hold Hetzner's maximum per project. */
const MAX_PAGES = 20;

const TEMPLATE = "GET /networks";

/**
 * Finds the id of the project's network by id or name, which are unique there. If it does not exist, the
 * fault lists the existing ones.
 */
export async function findNetwork(
  api: Api,
  idOrName: string,
  callContext: CallContext,
): Promise<Outcome<string>> {
  const fetch = (page: number) => fetchPage(api, page, callContext);
  const { entries, incomplete } = await readAllPages(fetch, {
    maxPages: MAX_PAGES,
    buildTooManyFault,
    buildUnreadableFault,
  });
  const key = isServerId(idOrName) ? "id" : "name";
  const network = entries.find((each) => each[key] === idOrName);
  if (network !== undefined) return ok(network.id);
  if (incomplete !== undefined) return { kind: "fault", fault: incomplete };
  return {
    kind: "fault",
    fault: { code: "Denied", key: "network", message: describeMissingNetwork(idOrName, entries) },
  };
}

async function fetchPage(
  api: Api,
  page: number,
  callContext: CallContext,
): Promise<Outcome<NumberedPage<HcloudNetwork>>> {
  const query = new URLSearchParams({ page: String(page), per_page: String(PAGE_SIZE) });
  const request = { operation: "networks_list", template: TEMPLATE, path: `/networks?${query}` };
  const answer = await api.get(request, callContext);
  if (answer.kind === "fault") return answer;
  const parsed = NetworksPage.safeParse(answer.value);
  if (!parsed.success) return fault("Unavailable", `${TEMPLATE}: the answer is not a list of networks`);
  const { networks, meta } = parsed.data;
  const { next_page: nextPage, last_page: lastPage } = meta.pagination;
  if (nextPage !== null && nextPage !== page + 1)
    return fault("Unavailable", `${TEMPLATE}: after page ${page} the answer names page ${nextPage}`);
  const entries = networks.flatMap((each) => HcloudNetwork.safeParse(each).data ?? []);
  const unreadable = networks.length - entries.length;
  return ok({ entries, unreadable, hasNext: nextPage !== null, lastPage: lastPage ?? 0 });
}

function describeMissingNetwork(idOrName: string, networks: readonly HcloudNetwork[]): string {
  const nearest = findNearest(
    idOrName,
    networks.flatMap(({ id, name }) => [id, name]),
  );
  const suggestion = nearest === undefined ? "" : `, perhaps ${nearest}`;
  const examples = networks.slice(0, MAX_SHOWN).map(({ id, name }) => `${name} (${id})`);
  return `the project has no network ${idOrName}${suggestion}; it has ${examples.join(", ") || "none"}: check network and the token's project`;
}

const MAX_SHOWN = 5;

function buildTooManyFault(): Fault {
  return { code: "Unavailable", message: `${TEMPLATE}: more than ${MAX_PAGES} pages, the rest is not read` };
}

function buildUnreadableFault(count: number): Fault {
  const message = `${TEMPLATE}: the answer holds ${count} networks without id or name`;
  return { code: "Unavailable", message };
}
