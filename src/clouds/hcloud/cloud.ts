import * as z from "zod";
import type { Cloud } from "#clouds/cloud.ts";
import { DEFAULT_ENDPOINT, type HcloudCloudConfig, TOKEN_VARIABLE } from "#clouds/hcloud/config.ts";
import { ACCOUNT, buildInstance } from "#clouds/hcloud/instance.ts";
import { parseLabelSelector } from "#clouds/hcloud/label-selector.ts";
import { createNetwork, findNetwork } from "#clouds/hcloud/network.ts";
import { readError } from "#clouds/hcloud/read-error.ts";
import {
  checkOwnership,
  type Ownership,
  parseProviderID,
  Server,
  ServerAnswer,
  ServersPage,
} from "#clouds/hcloud/server.ts";
import { type Api, type Authorize, createApi, createSigner } from "#clouds/http/api.ts";
import { createAuthorizer } from "#clouds/http/authorizer.ts";
import { createBudget, type Quota } from "#clouds/http/budget.ts";
import { createHttpClient } from "#clouds/http/client.ts";
import { buildDependencies, formatUserAgent, type HttpCloudOptions } from "#clouds/http/cloud-options.ts";
import type { CallContext } from "#clouds/http/meter.ts";
import type { Fault, Outcome } from "#clouds/http/outcome.ts";
import { type NumberedPage, readAllPages } from "#clouds/listed/all-pages.ts";
import { createListedCloud } from "#clouds/listed/listed-cloud.ts";
import { createListing, type Listing } from "#clouds/listed/listing.ts";
import { createSources } from "#clouds/listed/sources.ts";
import { fault, ok } from "#clouds/outcome.ts";
import type { Environment } from "#clouds/provider.ts";

/**
 * The maximum rate of requests. Hetzner allows a project 3,600 requests and restores one per second. Each
 * answer says how many are left, and the budget follows that.
 */
const QUOTA: Quota = { burst: 100, refillPerSecond: 10 };

/** With fewer requests left than this, initialized nodes are not checked. */
const RESERVE = 360;

/** Creates the cloud with the token of its file or of the environment; rejects without a usable token. */
export async function loadHcloudCloud(
  config: HcloudCloudConfig,
  options: HttpCloudOptions = {},
  environment: Environment = process.env,
): Promise<Cloud> {
  const authorize = createAuthorizer(config, {
    variable: TOKEN_VARIABLE,
    key: "tokenFile",
    environment,
    clusterName: options.clusterName ?? "hcloud",
  });
  await authorize();
  return createHcloudCloud(config, authorize, options);
}

/** Creates the cloud of one token's Hetzner project. Budget and lists live as long as the returned object. */
export function createHcloudCloud(
  config: HcloudCloudConfig,
  authorize: Authorize,
  options: HttpCloudOptions = {},
): Cloud {
  const { sleep, now, wallClock, random, maxListAgeMs } = buildDependencies(options);
  const { labelSelector } = config;
  const client = createHttpClient(config.endpoint ?? DEFAULT_ENDPOINT);
  const budget = createBudget(QUOTA, RESERVE, now);
  const userAgent = formatUserAgent(options.clusterName ?? "hcloud");
  const sign = createSigner(authorize);
  const api = createApi({ client, sign, budget, readError, userAgent, sleep, wallClock, random });
  const network = createNetwork(api, config.network, now);
  const requirements = parseLabelSelector(labelSelector ?? "") ?? [];
  let ownership: Ownership = { network: undefined, labelSelector, requirements };
  const sources = createSources<Server>({
    lists: [(callContext) => listServers(api, labelSelector, callContext, now)],
    read: (id, callContext) => readServer(api, id, callContext),
    checkOwnership: (server) => checkOwnership(ownership, server),
    maxListAgeMs,
    now,
  });
  return createListedCloud({
    provider: "hcloud",
    title: "Hetzner",
    machine: "server",
    budget,
    parseProviderID,
    async prepare(callContext) {
      const id = await network.readId(callContext);
      if (id.kind === "fault") return id.fault;
      ownership = { network: id.value, labelSelector, requirements };
      return undefined;
    },
    sources,
    listFew: (callContext) => listFew(api, labelSelector, callContext),
    isAlive: ({ status }) => status !== "deleting",
    // A project's servers may be in all locations; a wrong configuration differs by its token or its network.
    locate: ({ id }) => ({ id, account: ACCOUNT, network: `-/${ownership.network ?? "-"}` }),
    listDeleted: (callContext) => listDeleted(api, callContext),
    buildInstance: (server) => buildInstance(server, { ...config, network: ownership.network }),
    // No server may have the labels yet, but the list also shows whether the token is accepted.
    check: (callContext) =>
      config.network === undefined
        ? listFew(api, labelSelector, callContext)
        : findNetwork(api, config.network, callContext),
    close: () => client.close(),
  });
}

/**
 * Reads one server by id; undefined only if Hetzner itself says that it does not exist. A 404 with any other
 * body, as from a proxy or a wrong `endpoint`, is a fault.
 */
async function readServer(
  api: Api,
  id: string,
  callContext: CallContext,
): Promise<Outcome<Server | undefined>> {
  const template = "GET /servers/{id}";
  const answer = await api.get({ operation: "servers_get", template, path: `/servers/${id}` }, callContext);
  if (answer.kind === "fault") {
    const { status, errorId } = answer.fault;
    return status === 404 && errorId === "not_found" ? ok(undefined) : answer;
  }
  const parsed = ServerAnswer.safeParse(answer.value);
  if (!parsed.success) return fault("Unavailable", `${template}: the answer is not a server`);
  if (parsed.data.server.id === id) return ok(parsed.data.server);
  return fault("Unavailable", `${template}: asked for ${id}, the answer is server ${parsed.data.server.id}`);
}

/** One page of the actions on the project's servers. */
export const ActionsPage = z.object({
  actions: z.array(
    z.looseObject({
      command: z.string(),
      status: z.string(),
      resources: z.array(z.looseObject({ id: z.union([z.int(), z.string()]), type: z.string() })),
    }),
  ),
});

/** Hetzner's largest page; older actions are not read. */
const ACTIONS_PAGE_SIZE = 50;

/** Lists the ids of the servers that the project's latest actions deleted. */
async function listDeleted(api: Api, callContext: CallContext): Promise<Outcome<ReadonlySet<string>>> {
  const template = "GET /servers/actions";
  const query = new URLSearchParams({ sort: "id:desc", page: "1", per_page: String(ACTIONS_PAGE_SIZE) });
  const request = { operation: "servers_actions_list", template, path: `/servers/actions?${query}` };
  const answer = await api.get(request, callContext);
  if (answer.kind === "fault") return answer;
  const page = ActionsPage.safeParse(answer.value).data;
  if (page === undefined) return fault("Unavailable", `${template}: the answer is not a list of actions`);
  return ok(
    new Set(
      page.actions.flatMap(({ command, status, resources }) =>
        command === "delete_server" && status === "success"
          ? resources.flatMap(({ id, type }) => (type === "server" ? [String(id)] : []))
          : [],
      ),
    ),
  );
}

/** Hetzner's largest page. */
const PAGE_SIZE = 50;

/** Maximum pages read, which is 10,000 servers. */
const MAX_PAGES = 200;

/**
 * Lists the project's servers that match the selector, on all pages. If a page fails, returns the other pages
 * and the fault.
 */
async function listServers(
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
async function listFew(
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
