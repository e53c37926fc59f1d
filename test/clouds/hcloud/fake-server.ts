import { isSelected, parseLabelSelector } from "#clouds/hcloud/label-selector.ts";
import {
  type FakeApi,
  type FakeRequest,
  type Refuse,
  startFakeApi,
  type WholeAnswer,
} from "#test/clouds/fake-api.ts";

/** A server of the fake; `undefined` in an optional place leaves the field out of the answer. */
export interface FakeHcloudServer {
  id: string;
  name: string;
  status: string;
  server_type: unknown;
  location: unknown;
  public_net: unknown;
  private_net: readonly { readonly network: string; readonly ip: string }[];
  labels: Readonly<Record<string, string>> | undefined;
  /** Neither listed nor read. */
  hidden: boolean;
}

/**
 * Hetzner's API as far as it is used, and strict: an unknown request gets the real error, and `close` reports
 * it.
 */
export interface FakeHcloud extends FakeApi {
  readonly servers: Map<string, FakeHcloudServer>;
  /** IDs of servers whose deletion is among the project's actions, in their order. */
  readonly deleted: Set<string>;
  /** IDs by name. */
  readonly networks: Map<string, string>;
  /** Tokens that are accepted. */
  readonly tokens: Set<string>;
  /** Throws if the name is taken, as names are unique in a project. */
  add(traits?: Partial<FakeHcloudServer>): FakeHcloudServer;
}

export const TOKEN = "hcloud0123456789abcdef0123456789abcdef";
export const NETWORK = "4711";
export const NETWORK_NAME = "blue";
export const SELECTOR = "cluster=blue";

/** Builds an error in Hetzner's format. */
export function buildErrorAnswer(
  status: number,
  code: string,
  headers: Readonly<Record<string, string>> = {},
): WholeAnswer {
  const body = JSON.stringify({ error: { code, message: `${code}, says the fake`, details: {} } });
  return { status, body, headers: { "content-type": "application/json", ...headers } };
}

/** Starts the fake, with a network and without servers, on a free port of this machine; its API is under `/v1`. */
export async function startFakeHcloud(): Promise<FakeHcloud> {
  const servers = new Map<string, FakeHcloudServer>();
  const deleted = new Set<string>();
  const networks = new Map([[NETWORK_NAME, NETWORK]]);
  const tokens = new Set([TOKEN]);
  let nextId = 52_000_001;

  const api = await startFakeApi((request, refuse) => {
    const { headers, method, path, query } = request;
    const token = /^Bearer (\S+)$/.exec(headers.authorization ?? "")?.[1];
    if (token === undefined) return refuse(buildErrorAnswer(401, "unauthorized"));
    if (!tokens.has(token)) return buildErrorAnswer(401, "unauthorized");
    if (method !== "GET") return refuse(buildErrorAnswer(405, "method_not_allowed"));
    if (path === "/v1/servers") return serversPage(request, refuse);
    if (path === "/v1/servers/actions") return actionsPage(query, refuse);
    if (path === "/v1/networks") return networksPage(query, refuse);
    const id = /^\/v1\/servers\/([1-9]\d*)$/.exec(path)?.[1];
    if (id === undefined || query.size > 0) return refuse(buildErrorAnswer(404, "not_found"));
    const server = servers.get(id);
    if (server === undefined || server.hidden) return buildErrorAnswer(404, "not_found");
    return answered({ server: rendered(server) });
  });

  function serversPage({ query }: FakeRequest, refuse: Refuse): WholeAnswer {
    const {
      page = "1",
      per_page: size = "25",
      sort = "id:asc",
      label_selector: selector,
      ...unknown
    } = Object.fromEntries(query);
    const isTwice = new Set(query.keys()).size !== query.size;
    const isWrong = Object.keys(unknown).length > 0 || isTwice || sort !== "id:asc";
    if (isWrong || !isWithin(page, 1, 100_000) || !isWithin(size, 1, 50))
      return refuse(buildErrorAnswer(422, "invalid_input"));
    const requirements = selector === undefined ? [] : parseLabelSelector(selector);
    if (requirements === undefined) return refuse(buildErrorAnswer(422, "invalid_input"));
    const all = [...servers.values()]
      .filter(({ hidden, labels }) => !hidden && isSelected(requirements, labels ?? {}))
      .sort((a, b) => (BigInt(a.id) < BigInt(b.id) ? -1 : 1));
    return answered({ ...paged("servers", all.map(rendered), Number(page), Number(size)) });
  }

  function actionsPage(query: URLSearchParams, refuse: Refuse): WholeAnswer {
    const { page = "1", per_page: size = "25", sort, ...unknown } = Object.fromEntries(query);
    if (Object.keys(unknown).length > 0 || sort !== "id:desc" || !isWithin(size, 1, 50))
      return refuse(buildErrorAnswer(422, "invalid_input"));
    const all = [...deleted].reverse().map((id, index) => ({
      ...{ id: 1_000 - index, command: "delete_server", status: "success", progress: 100, error: null },
      ...{ started: "2026-01-01T00:00:00Z", finished: "2026-01-01T00:00:10Z" },
      resources: [{ id: Number(id), type: "server" }],
    }));
    return answered(paged("actions", all, Number(page), Number(size)));
  }

  function networksPage(query: URLSearchParams, refuse: Refuse): WholeAnswer {
    const { page = "1", per_page: size = "25", ...unknown } = Object.fromEntries(query);
    if (Object.keys(unknown).length > 0 || !isWithin(page, 1, 100_000) || !isWithin(size, 1, 50))
      return refuse(buildErrorAnswer(422, "invalid_input"));
    const all = [...networks].map(([name, id]) => ({ id: Number(id), name, ...NETWORK_REST }));
    return answered(paged("networks", all, Number(page), Number(size)));
  }

  api.headers = buildQuotaHeaders("3599");
  return Object.assign(api, {
    servers,
    deleted,
    networks,
    tokens,
    add(traits: Partial<FakeHcloudServer> = {}) {
      const id = traits.id ?? String(nextId++);
      const server: FakeHcloudServer = { ...aServer(id, servers.size), ...traits };
      if ([...servers.values()].some(({ name }) => name === server.name))
        throw new Error(`uniqueness_error: there is a server ${server.name}`);
      servers.set(id, server);
      return server;
    },
  });
}

/** Builds the headers of a quota with so much left. */
export function buildQuotaHeaders(remaining: string, resetSeconds = 60): Readonly<Record<string, string>> {
  return {
    "ratelimit-limit": "3600",
    "ratelimit-remaining": remaining,
    "ratelimit-reset": String(Math.floor(Date.now() / 1000) + resetSeconds),
  };
}

function paged(key: string, all: readonly unknown[], page: number, size: number) {
  const last = Math.max(1, Math.ceil(all.length / size));
  const pagination = {
    page,
    per_page: size,
    previous_page: page > 1 ? page - 1 : null,
    next_page: page < last ? page + 1 : null,
    last_page: last,
    total_entries: all.length,
  };
  return { [key]: all.slice((page - 1) * size, page * size), meta: { pagination } };
}

function answered(body: unknown): WholeAnswer {
  return { status: 200, body: JSON.stringify(body) };
}

function isWithin(text: string, from: number, to: number): boolean {
  return /^\d{1,6}$/.test(text) && Number(text) >= from && Number(text) <= to;
}

function aServer(id: string, index: number): FakeHcloudServer {
  const [high, low] = [Math.floor(index / 250), (index % 250) + 1];
  return {
    id,
    name: `pool-a-${id}`,
    status: "running",
    server_type: { id: 22, name: "cpx31", ...SERVER_TYPE_REST },
    location: { id: 1, name: "fsn1", network_zone: "eu-central", ...LOCATION_REST },
    public_net: {
      ipv4: { id: 1, ip: `203.0.${high}.${low}`, blocked: false, dns_ptr: "static.example.com" },
      ipv6: { id: 2, ip: `2001:db8:${high}:${low}::/64`, blocked: false, dns_ptr: [] },
      floating_ips: [],
      firewalls: [],
    },
    private_net: [{ network: NETWORK, ip: `10.0.${high}.${low}` }],
    labels: { cluster: "blue" },
    hidden: false,
  };
}

// Fields that this project does not read. Their names and types are those of Hetzner's own client.

const SERVER_TYPE_REST = {
  ...{ description: "CPX 31", category: "Shared vCPU", cores: 4, memory: 8, disk: 160, included_traffic: 0 },
  ...{ storage_type: "local", cpu_type: "shared", architecture: "x86", prices: [], locations: [] },
  ...{ deprecated: false, deprecation: null },
};

const LOCATION_REST = {
  ...{ description: "Falkenstein DC Park 1", country: "DE", city: "Falkenstein" },
  ...{ latitude: 50.47612, longitude: 12.370071 },
};

const SERVER_REST = {
  ...{ created: "2026-01-01T00:00:00Z", locked: false, rescue_enabled: false, backup_window: null },
  ...{ included_traffic: 21_990_232_555_520, outgoing_traffic: 123_456, ingoing_traffic: null },
  ...{ iso: null, image: null, placement_group: null, primary_disk_size: 160 },
  ...{ volumes: [], load_balancers: [], protection: { delete: false, rebuild: false } },
};

const NETWORK_REST = {
  ...{ created: "2026-01-01T00:00:00Z", ip_range: "10.0.0.0/16", subnets: [], routes: [], servers: [] },
  ...{ load_balancers: [], protection: { delete: false }, labels: {}, expose_routes_to_vswitch: false },
};

/** Returns a server as the API describes it. */
function rendered({ id, hidden: _hidden, private_net, ...rest }: FakeHcloudServer) {
  const { rawJSON } = JSON as unknown as { rawJSON(text: string): unknown };
  return {
    id: rawJSON(id),
    ...rest,
    private_net: private_net?.map((each) => ({
      ...each,
      network: /^\d+$/.test(each.network) ? rawJSON(each.network) : each.network,
      alias_ips: [],
      mac_address: "86:00:ff:2a:7d:e1",
    })),
    ...SERVER_REST,
  };
}
