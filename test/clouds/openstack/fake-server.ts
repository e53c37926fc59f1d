import * as z from "zod";
import {
  type FakeApi,
  type FakeRequest,
  type Refuse,
  startFakeApi,
  type WholeAnswer,
} from "#test/clouds/fake-api.ts";

/** A server of the fake; `undefined` in an optional place leaves the field out of the answer. */
export interface FakeOpenStackServer {
  id: string;
  name: string;
  status: string;
  tenant_id: string | undefined;
  metadata: Readonly<Record<string, string>> | undefined;
  tags: readonly string[] | undefined;
  addresses: Readonly<Record<string, readonly unknown[]>>;
  accessIPv4: string;
  accessIPv6: string;
  flavor: unknown;
  zone: string | null;
  ports: FakePort[];
  /** Neither listed nor read. */
  hidden: boolean;
}

/** A port of a server of the fake. */
export interface FakePort {
  readonly id: string;
  readonly device_owner: string;
  readonly network_id: string;
  readonly status: string;
  readonly fixed_ips: readonly { readonly subnet_id: string; readonly ip_address: string }[];
}

/**
 * Keystone, Nova and Neutron as far as they are used, and strict: an unknown request gets the real error, and
 * `close` reports it.
 */
export interface FakeOpenStack extends FakeApi {
  /** Keystone's URL. */
  readonly authURL: string;
  readonly servers: Map<string, FakeOpenStackServer>;
  /** Tokens that are accepted; each sign-in adds one. */
  readonly tokens: Set<string>;
  /** The project's visible networks: names by ID. */
  readonly networks: Map<string, string>;
  /** The secret that Keystone accepts. */
  secret: string;
  /** The lifetime of a token in seconds. */
  lifeSeconds: number;
  /** The project of tokens; null for tokens without one. */
  project: string | null;
  /** The maximum page size, for any request. */
  maxPage: number;
  add(traits?: Partial<FakeOpenStackServer>): FakeOpenStackServer;
}

export const REGION = "RegionOne";
export const PROJECT = "0f1e2d3c4b5a69788796a5b4c3d2e1f0";
export const CREDENTIAL = "aa809205ed614a0e854bac92c0768bb9";
export const SECRET = "oF7eKZrjkNx-the-secret";
export const NETWORK = "6c4cbc7f-2f2b-4a5b-8d0b-0e6a5f0a1b2c";
export const TAG = "k8s-blue";
export const METADATA = { cluster: "blue" };

/** Errors in each service's format. */
export const errors = {
  keystone: (code: number, title: string, message = "says the fake") =>
    answered({ error: { code, title, message } }, code),
  nova: (code: number, id: string, message = `${id}, says the fake`) =>
    answered({ [id]: { code, message } }, code),
  neutron: (code: number, type: string) =>
    answered({ NeutronError: { type, message: `${type}, says the fake`, detail: "" } }, code),
};

const User = z.union([
  z.strictObject({ id: z.string(), password: z.string().optional() }),
  z.strictObject({
    name: z.string(),
    domain: z.union([z.strictObject({ id: z.string() }), z.strictObject({ name: z.string() })]),
    password: z.string().optional(),
  }),
]);
const Project = z.union([
  z.strictObject({ id: z.string() }),
  z.strictObject({
    name: z.string(),
    domain: z.union([z.strictObject({ id: z.string() }), z.strictObject({ name: z.string() })]),
  }),
]);
const SignIn = z.strictObject({
  auth: z.union([
    z.strictObject({
      identity: z.strictObject({
        methods: z.tuple([z.literal("application_credential")]),
        application_credential: z.union([
          z.strictObject({ id: z.string(), secret: z.string() }),
          z.strictObject({ name: z.string(), secret: z.string(), user: User }),
        ]),
      }),
    }),
    z.strictObject({
      identity: z.strictObject({
        methods: z.tuple([z.literal("password")]),
        password: z.strictObject({ user: User }),
      }),
      scope: z.strictObject({ project: Project }),
    }),
  ]),
});

/** Starts the fake, without servers, on a free port of this machine. */
export async function startFakeOpenStack(): Promise<FakeOpenStack> {
  const servers = new Map<string, FakeOpenStackServer>();
  const tokens = new Set<string>();
  let issued = 0;

  const api = await startFakeApi((request, refuse) => {
    const { method, path } = request;
    if (path === "/identity/v3/auth/tokens" && method === "POST") return signIn(request, refuse);
    const [, service, rest = ""] = /^\/(compute\/v2\.1|network)(\/.*)$/.exec(path) ?? [];
    if (service === undefined || method !== "GET") return refuse(errors.nova(404, "itemNotFound"));
    const token = request.headers["x-auth-token"];
    if (token === undefined) return refuse(errors.keystone(401, "Unauthorized"));
    if (!tokens.has(String(token))) return errors.keystone(401, "Unauthorized");
    if (service === "network" && rest === "/v2.0/networks") return networksPage(request, refuse);
    if (service === "network")
      return rest === "/v2.0/ports" ? ports(request, refuse) : refuse(errors.neutron(404, "HTTPNotFound"));
    if (request.headers["x-openstack-nova-api-version"] !== "2.47")
      return refuse(errors.nova(406, "computeFault"));
    if (rest === "/servers/detail") return list(request, refuse);
    const id = /^\/servers\/([0-9a-f-]{36})$/.exec(rest)?.[1];
    if (id === undefined || request.query.size > 0) return refuse(errors.nova(404, "itemNotFound"));
    const server = servers.get(id);
    if (server === undefined || server.hidden) return errors.nova(404, "itemNotFound");
    return answered({ server: rendered(server) });
  });

  function signIn(request: FakeRequest, refuse: Refuse): WholeAnswer {
    const parsed = SignIn.safeParse(JSON.parse(request.body));
    if (!parsed.success || request.headers["x-auth-token"] !== undefined)
      return refuse(errors.keystone(400, "Bad Request"));
    const { identity } = parsed.data.auth;
    const secret =
      "application_credential" in identity
        ? identity.application_credential.secret
        : identity.password.user.password;
    if (secret !== fake.secret) return errors.keystone(401, "Unauthorized");
    issued += 1;
    const token = `gAAAAA-${issued}`;
    tokens.add(token);
    const at = Date.now();
    const endpoint = (kind: string, region: string, url: string) => ({
      interface: kind,
      region,
      region_id: region,
      id: "1",
      url,
    });
    const both = (path: string) => [
      endpoint("public", REGION, `${api.url}${path}`),
      endpoint("internal", REGION, `http://10.0.0.1${path}`),
      endpoint("public", "RegionTwo", "https://elsewhere.example.com"),
    ];
    const body = {
      token: {
        methods: identity.methods,
        issued_at: new Date(at).toISOString(),
        expires_at: new Date(at + fake.lifeSeconds * 1_000).toISOString(),
        ...(fake.project === null
          ? {}
          : { project: { id: fake.project, name: "blue", domain: DOMAIN }, is_domain: false, roles: [ROLE] }),
        user: { id: USER_ID, name: "ccm", domain: DOMAIN, password_expires_at: null },
        audit_ids: [`audit-${issued}`],
        ...("application_credential" in identity
          ? { application_credential: { id: CREDENTIAL, name: "blue", restricted: true } }
          : {}),
        catalog: [
          { type: "identity", name: "keystone", id: "a", endpoints: both("/identity") },
          { type: "compute", name: "nova", id: "b", endpoints: both("/compute/v2.1") },
          { type: "network", name: "neutron", id: "c", endpoints: both("/network/") },
        ],
      },
    };
    return { status: 201, body: JSON.stringify(body), headers: { "x-subject-token": token } };
  }

  function list({ query }: FakeRequest, refuse: Refuse): WholeAnswer {
    const { limit = "1000", marker, tags, ...unknown } = Object.fromEntries(query);
    if (Object.keys(unknown).length > 0 || !/^\d{1,4}$/.test(limit))
      return refuse(errors.nova(400, "badRequest"));
    const visible = [...servers.values()].filter(
      ({ hidden, tenant_id: owner }) => !hidden && (owner ?? PROJECT) === PROJECT,
    );
    const all = visible.filter(
      (server) => tags === undefined || tags.split(",").every((tag) => server.tags?.includes(tag)),
    );
    const from = marker === undefined ? 0 : all.findIndex(({ id }) => id === marker) + 1;
    if (marker !== undefined && from === 0)
      return errors.nova(400, "badRequest", `marker [${marker}] not found`);
    const size = Math.min(Number(limit), fake.maxPage);
    const page = all.slice(from, from + size);
    const next = buildNextLink(`${api.url}/compute/v2.1/servers/detail`, query, page);
    return answered({
      servers: page.map(rendered),
      ...(page.length === size ? { servers_links: [next] } : {}),
    });
  }

  function ports({ query }: FakeRequest, refuse: Refuse): WholeAnswer {
    const KNOWN = [
      "project_id",
      "device_id",
      "network_id",
      "fields",
      "limit",
      "marker",
      "sort_key",
      "sort_dir",
    ];
    const limit = Number(query.get("limit") ?? fake.maxPage);
    if ([...query.keys()].some((key) => !KNOWN.includes(key)) || !(limit > 0))
      return refuse(errors.neutron(400, "HTTPBadRequest"));
    const devices = new Set(query.getAll("device_id"));
    const all = [...servers.values()]
      .filter(
        (server) => !server.hidden && (server.tenant_id ?? PROJECT) === (query.get("project_id") ?? PROJECT),
      )
      .filter(({ id }) => devices.size === 0 || devices.has(id))
      .flatMap((server) => server.ports.map((port) => ({ ...port, device_id: server.id, ...PORT_REST })))
      .filter(({ network_id: network }) => network === (query.get("network_id") ?? network))
      .sort((a, b) => (a.id < b.id ? -1 : 1));
    const marker = query.get("marker");
    const from = marker === null ? 0 : all.findIndex(({ id }) => id === marker) + 1;
    if (marker !== null && from === 0) return errors.neutron(400, "BadRequest");
    const size = Math.min(limit, fake.maxPage);
    const page = all.slice(from, from + size);
    const fields = new Set(query.getAll("fields"));
    const cut = page.map((port) =>
      Object.fromEntries(Object.entries(port).filter(([key]) => fields.size === 0 || fields.has(key))),
    );
    const next = buildNextLink(`${api.url}/network/v2.0/ports`, query, page);
    return answered({ ports: cut, ...(page.length === size ? { ports_links: [next] } : {}) });
  }

  function networksPage({ query }: FakeRequest, refuse: Refuse): WholeAnswer {
    if ([...query.keys()].some((key) => key !== "limit"))
      return refuse(errors.neutron(400, "HTTPBadRequest"));
    const size = Math.min(Number(query.get("limit") ?? fake.maxPage), fake.maxPage);
    const page = [...fake.networks].slice(0, size).map(([id, name]) => ({ id, name, ...NETWORK_REST }));
    const next = buildNextLink(`${api.url}/network/v2.0/networks`, query, page);
    return answered({ networks: page, ...(page.length === size ? { networks_links: [next] } : {}) });
  }

  const fake: FakeOpenStack = Object.assign(api, {
    authURL: `${api.url}/identity`,
    servers,
    tokens,
    networks: new Map([[NETWORK, "blue"]]),
    secret: SECRET,
    lifeSeconds: 3_600,
    project: PROJECT as string | null,
    maxPage: 1_000,
    add(traits: Partial<FakeOpenStackServer> = {}) {
      const id = traits.id ?? formatUuid(servers.size + 1);
      const server: FakeOpenStackServer = { ...aServer(id, servers.size), ...traits };
      servers.set(id, server);
      return server;
    },
  });
  return fake;
}

/** Returns a UUID for the number n. */
export function formatUuid(n: number): string {
  return `d3c1a0fe-0000-4000-8000-${n.toString(16).padStart(12, "0")}`;
}

/** Builds a port in the cluster's network. */
export function buildPort(id: string, address: string, traits: Partial<FakePort> = {}): FakePort {
  return {
    id,
    device_owner: "compute:nova",
    network_id: NETWORK,
    status: "ACTIVE",
    fixed_ips: [{ subnet_id: SUBNET, ip_address: address }],
    ...traits,
  };
}

/** Builds an address as Nova shows it. */
export function buildAddress(addr: string, type: "fixed" | "floating" = "fixed") {
  return {
    addr,
    version: addr.includes(":") ? 6 : 4,
    "OS-EXT-IPS:type": type,
    "OS-EXT-IPS-MAC:mac_addr": "fa:16:3e:00:00:01",
  };
}

function answered(body: unknown, status = 200): WholeAnswer {
  return { status, body: JSON.stringify(body), headers: { "content-type": "application/json" } };
}

function aServer(id: string, index: number): FakeOpenStackServer {
  const [high, low] = [Math.floor(index / 250), (index % 250) + 1];
  const own = `10.20.${high}.${low}`;
  return {
    id,
    name: `pool-a-${index}`,
    status: "ACTIVE",
    tenant_id: PROJECT,
    metadata: METADATA,
    tags: [TAG],
    addresses: { tenant: [buildAddress(own), buildAddress(`203.0.${high}.${low}`, "floating")] },
    accessIPv4: "",
    accessIPv6: "",
    flavor: {
      original_name: "m1.large",
      vcpus: 4,
      ram: 8192,
      disk: 40,
      ephemeral: 0,
      swap: 0,
      extra_specs: {},
    },
    zone: "az1",
    ports: [buildPort(id.replace(/^d3c1a0fe/, "9a7e0b1c"), own)],
    hidden: false,
  };
}

/** Builds the link to the page after this one, as Nova and Neutron do: the same query from another marker. */
function buildNextLink(url: string, query: URLSearchParams, page: readonly { readonly id: string }[]) {
  const next = new URLSearchParams(query);
  next.set("marker", page.at(-1)?.id ?? "");
  return { rel: "next", href: `${url}?${next}` };
}

// Fields that this project does not read. Their names and types are those of the services' own schemas.

const USER_ID = "5a3b1c7d9e8f40a1b2c3d4e5f6a7b8c9";
const SUBNET = "7d5e3c1a-4b2f-4c6d-8e9f-0a1b2c3d4e5f";
const DOMAIN = { id: "default", name: "Default" };
const ROLE = { id: "9fe2ff9ee4384b1894a90878d3e92bab", name: "member" };

const SERVER_REST = {
  ...{
    key_name: null,
    locked: false,
    description: null,
    config_drive: "",
    image: "",
    hostId: "",
    progress: 0,
  },
  ...{ created: "2026-01-01T00:00:00Z", updated: "2026-01-01T00:01:00Z", user_id: USER_ID },
  "OS-DCF:diskConfig": "MANUAL",
  "OS-EXT-STS:power_state": 1,
  "OS-EXT-STS:task_state": null,
  "OS-EXT-STS:vm_state": "active",
  "OS-SRV-USG:launched_at": "2026-01-01T00:01:00.000000",
  "OS-SRV-USG:terminated_at": null,
  "os-extended-volumes:volumes_attached": [],
  security_groups: [{ name: "default" }],
};

const PORT_REST = {
  ...{ name: "", admin_state_up: true, mac_address: "fa:16:3e:00:00:01" },
  ...{ tenant_id: PROJECT, project_id: PROJECT },
};

const NETWORK_REST = {
  ...{ admin_state_up: true, status: "ACTIVE", shared: false, subnets: [SUBNET] },
  ...{ tenant_id: PROJECT, project_id: PROJECT },
};

/** Returns a server as Nova describes it. */
function rendered({ hidden: _hidden, ports: _ports, zone, ...rest }: FakeOpenStackServer) {
  return {
    ...rest,
    ...SERVER_REST,
    links: [{ rel: "self", href: `http://nova.example.com/v2.1/servers/${rest.id}` }],
    "OS-EXT-AZ:availability_zone": zone,
  };
}
