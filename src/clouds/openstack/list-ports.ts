import type { CallContext } from "#clouds/http/meter.ts";
import type { Outcome } from "#clouds/http/outcome.ts";
import type { Apis } from "#clouds/openstack/apis.ts";
import { type Port, PortsPage } from "#clouds/openstack/server.ts";
import { fault, ok } from "#clouds/outcome.ts";

/** Which ports: those of all servers of the project, or of some servers. */
export interface PortFilter {
  readonly project: string;
  readonly servers?: readonly string[];
}

/** The largest page, if the service allows it. */
const PAGE_SIZE = 1_000;
/** Maximum pages read. */
const MAX_PAGES = 20;

const TEMPLATE = "GET /v2.0/ports";

/**
 * Lists ports by their servers' ids. An incomplete list is a fault, because a server without some of its
 * ports would get other addresses.
 */
export async function listPorts(
  apis: Apis,
  filter: PortFilter,
  callContext: CallContext,
): Promise<Outcome<{ readonly pages: number; readonly byServer: ReadonlyMap<string, readonly Port[]> }>> {
  const ports = new Map<string, Port>();
  let marker: string | undefined;
  for (let page = 1; page <= MAX_PAGES; page += 1) {
    const answer = await fetchPage(apis, filter, marker, callContext);
    if (answer.kind === "fault") return answer;
    const { ports: found, ports_links: links = [] } = answer.value;
    const hasNewPorts = found.some(({ id }) => !ports.has(id));
    for (const port of found) ports.set(port.id, port);
    if (!links.some(({ rel }) => rel === "next") || found.length === 0)
      return ok({ pages: page, byServer: groupByServer(ports) });
    if (!hasNewPorts) return fault("Unavailable", `${TEMPLATE}: the same page was returned twice`);
    marker = found.at(-1)?.id;
  }
  return fault("Unavailable", `${TEMPLATE}: more than ${MAX_PAGES} pages, the rest is not read`);
}

async function fetchPage(
  apis: Apis,
  { project, servers = [] }: PortFilter,
  marker: string | undefined,
  callContext: CallContext,
): Promise<Outcome<PortsPage>> {
  const query = new URLSearchParams([
    // An administrator would see the ports of all projects.
    ["project_id", project],
    ...servers.map((id) => ["device_id", id]),
    ...FIELDS.map((field) => ["fields", field]),
    ["limit", String(PAGE_SIZE)],
    // Addresses follow the order of ports, which must be equal in lists and single reads.
    ["sort_key", "id"],
    ["sort_dir", "asc"],
    ...(marker === undefined ? [] : [["marker", marker]]),
  ] as [string, string][]);
  const request = { operation: "ports_list", template: TEMPLATE, path: `/v2.0/ports?${query}` };
  const answer = await apis.get("network", request, callContext);
  if (answer.kind === "fault") return answer;
  const parsed = PortsPage.safeParse(answer.value);
  if (parsed.success) return ok(parsed.data);
  return fault("Unavailable", `${TEMPLATE}: the answer is not a list of ports`);
}

const FIELDS = ["id", "device_id", "device_owner", "network_id", "status", "fixed_ips"];

/** Ports that Nova has plugged in; load balancers and routers have their own ports. */
function groupByServer(ports: ReadonlyMap<string, Port>): ReadonlyMap<string, readonly Port[]> {
  const serverPorts = [...ports.values()].filter(({ device_owner: owner }) => owner.startsWith("compute:"));
  const sorted = serverPorts.toSorted((a, b) => Number(a.id > b.id) - Number(a.id < b.id));
  return Map.groupBy(sorted, ({ device_id: id }) => id);
}
