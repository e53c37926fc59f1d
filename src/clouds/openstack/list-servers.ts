import type { CallContext } from "#clouds/http/meter.ts";
import type { Fault, Outcome } from "#clouds/http/outcome.ts";
import { createListing, type Listing } from "#clouds/listed/listing.ts";
import type { Apis } from "#clouds/openstack/apis.ts";
import { listPorts, type PortFilter } from "#clouds/openstack/list-ports.ts";
import { type Port, Server, ServersPage } from "#clouds/openstack/server.ts";
import { fault, ok } from "#clouds/outcome.ts";

/** The filter of a list, and the facts needed about servers. */
export interface ServerFilter extends Pick<PortFilter, "project"> {
  readonly tag: string | undefined;
  /** Whether ports are needed to prove a server's ownership. */
  readonly needsPorts: boolean;
}

/** The largest page, if the service allows it. */
const PAGE_SIZE = 1_000;
/** Maximum pages read. */
const MAX_PAGES = 20;

const TEMPLATE = "GET /servers/detail";

/**
 * Lists the project's servers with their ports, on all pages. Without all ports it returns no server; if a
 * page of servers fails, those before it.
 */
export async function listServers(
  apis: Apis,
  { project, tag }: ServerFilter,
  callContext: CallContext,
  now: () => number,
): Promise<Listing<Server>> {
  const startedAt = now();
  const [servers, ports] = await Promise.all([
    listAll(apis, tag, callContext),
    listPorts(apis, { project }, callContext),
  ]);
  const { pages } = servers;
  if (ports.kind === "fault")
    return createListing({ startedAt, pages, machines: [], incomplete: ports.fault });
  const machines = servers.all.map((server) => addPorts(server, ports.value.byServer));
  return createListing({
    startedAt,
    pages: pages + ports.value.pages,
    machines,
    incomplete: servers.incomplete,
  });
}

/** Lists a few servers for a visibility probe; with ports only if these prove ownership. */
export async function listFew(
  apis: Apis,
  { project, tag, needsPorts }: ServerFilter,
  callContext: CallContext,
): Promise<Outcome<readonly Server[]>> {
  const page = await fetchPage(apis, { tag, size: FEW, marker: undefined }, callContext);
  if (page.kind === "fault") return page;
  const { servers } = page.value;
  if (!needsPorts || servers.length === 0) return ok(servers.map((server) => ({ ...server, ports: [] })));
  const ports = await listPorts(apis, { project, servers: servers.map(({ id }) => id) }, callContext);
  return ports.kind === "fault" ? ports : ok(servers.map((server) => addPorts(server, ports.value.byServer)));
}

/** Joins servers and their ports. */
export function addPorts(
  server: Omit<Server, "ports">,
  byServer: ReadonlyMap<string, readonly Port[]>,
): Server {
  return { ...server, ports: byServer.get(server.id) ?? [] };
}

const FEW = 20;

type ServerWithoutPorts = Omit<Server, "ports">;

interface ServerList {
  readonly all: readonly ServerWithoutPorts[];
  readonly pages: number;
  readonly incomplete: Fault | undefined;
}

async function listAll(apis: Apis, tag: string | undefined, callContext: CallContext): Promise<ServerList> {
  const found = new Map<string, ServerWithoutPorts>();
  let unreadable = 0;
  let marker: string | undefined;
  const buildList = (pages: number, incomplete: Fault | undefined): ServerList => ({
    all: [...found.values()],
    pages,
    incomplete: incomplete ?? (unreadable > 0 ? buildUnreadableFault(unreadable) : undefined),
  });
  for (let pages = 0; pages < MAX_PAGES; pages += 1) {
    const page = await fetchPage(apis, { tag, size: PAGE_SIZE, marker }, callContext);
    if (page.kind === "fault") return buildList(pages, page.fault);
    const { servers, hasNext, last } = page.value;
    unreadable += page.value.unreadable;
    for (const server of servers) found.set(server.id, server);
    if (!hasNext || last === undefined) return buildList(pages + 1, undefined);
    if (last === marker) return buildList(pages + 1, buildDuplicateFault());
    marker = last;
  }
  return buildList(MAX_PAGES, buildTooManyFault());
}

interface PageQuery {
  readonly tag: string | undefined;
  readonly size: number;
  readonly marker: string | undefined;
}

interface Page {
  readonly servers: readonly ServerWithoutPorts[];
  readonly unreadable: number;
  readonly hasNext: boolean;
  /** The id of the last entry, valid or not. */
  readonly last: string | undefined;
}

async function fetchPage(
  apis: Apis,
  { tag, size, marker }: PageQuery,
  callContext: CallContext,
): Promise<Outcome<Page>> {
  const query = new URLSearchParams({
    limit: String(size),
    ...(tag === undefined ? {} : { tags: tag }),
    ...(marker === undefined ? {} : { marker }),
  });
  const request = { operation: "servers_detail", template: TEMPLATE, path: `/servers/detail?${query}` };
  const answer = await apis.get("compute", request, callContext);
  if (answer.kind === "fault") return answer;
  const parsed = ServersPage.safeParse(answer.value);
  if (!parsed.success) return fault("Unavailable", `${TEMPLATE}: the answer is not a list of servers`);
  const { servers: entries, servers_links: links = [] } = parsed.data;
  const servers = entries.flatMap((entry) => Server.safeParse(entry).data ?? []);
  return ok({
    servers,
    unreadable: entries.length - servers.length,
    hasNext: links.some(({ rel }) => rel === "next"),
    last: entries.at(-1)?.id,
  });
}

function buildTooManyFault(): Fault {
  const message = `${TEMPLATE}: more than ${MAX_PAGES} pages, the rest is not read; a server-tag makes the list shorter`;
  return { code: "Unavailable", message };
}

function buildDuplicateFault(): Fault {
  return { code: "Unavailable", message: `${TEMPLATE}: the same page was returned twice` };
}

function buildUnreadableFault(count: number): Fault {
  const message = `${TEMPLATE}: the answer holds ${count} servers whose id or name cannot be read`;
  return { code: "Unavailable", message };
}
