import type { Cloud } from "#clouds/cloud.ts";
import { createBudget } from "#clouds/http/budget.ts";
import { buildDependencies, formatUserAgent, type HttpCloudOptions } from "#clouds/http/cloud-options.ts";
import type { CallContext } from "#clouds/http/meter.ts";
import type { Outcome } from "#clouds/http/outcome.ts";
import { createListedCloud } from "#clouds/listed/listed-cloud.ts";
import { createSources } from "#clouds/listed/sources.ts";
import { type Apis, createApis } from "#clouds/openstack/apis.ts";
import { type Auth, createAuth } from "#clouds/openstack/auth.ts";
import { checkNetwork } from "#clouds/openstack/check-network.ts";
import { type OpenStackCloudConfig, sortAddresses } from "#clouds/openstack/config.ts";
import { listPorts } from "#clouds/openstack/list-ports.ts";
import { addPorts, listFew, listServers } from "#clouds/openstack/list-servers.ts";
import { checkOwnership, formatNetwork, type Ownership } from "#clouds/openstack/ownership.ts";
import {
  formatProviderID,
  hasEnded,
  parseProviderID,
  type Server,
  ServerAnswer,
  toInstanceState,
} from "#clouds/openstack/server.ts";
import { fault, ok } from "#clouds/outcome.ts";
import type { Environment } from "#clouds/provider.ts";
import { canonicalizeIp } from "#core/cidr.ts";
import type { Instance } from "#core/instance.ts";
import { checkLabelValue } from "#core/label-syntax.ts";
import type { NodeAddress } from "#core/node/node.ts";
import { readAuthority } from "#platforms/secrets/read-secret.ts";

/** Dependencies of an OpenStack cloud that tests replace. */
export interface OpenStackCloudOptions extends HttpCloudOptions {
  /** Trusted certificates of the services, as PEM. */
  readonly ca?: string | undefined;
}

/** Seconds of the allowed rate that may be sent at once. */
const BURST_SECONDS = 5;

/** Creates the cloud without signing in; rejects if its secret or certificates are unreadable. */
export async function loadOpenStackCloud(
  config: OpenStackCloudConfig,
  options: OpenStackCloudOptions = {},
  environment: Environment = process.env,
): Promise<Cloud> {
  const auth = createAuth(config, environment, options.clusterName ?? config.region);
  const [ca] = await Promise.all([readAuthority(config["ca-file"]), auth.buildBody()]);
  return createOpenStackCloud(config, auth, { ca, ...options });
}

/**
 * Creates the cloud of one project's servers in one region. Token, budget and lists live as long as the
 * returned object.
 */
export function createOpenStackCloud(
  config: OpenStackCloudConfig,
  auth: Auth,
  options: OpenStackCloudOptions = {},
): Cloud {
  const { sleep, now, wallClock, random, maxListAgeMs } = buildDependencies(options);
  const { ca } = options;
  const rate = config["requests-per-second"];
  const quota = { burst: Math.max(BURST_SECONDS, rate * BURST_SECONDS), refillPerSecond: rate };
  const budget = createBudget(quota, 0, now);
  const userAgent = formatUserAgent(options.clusterName ?? config.region);
  const apis = createApis({ config, auth, ca, budget, userAgent, sleep, now, wallClock, random });
  // Before Keystone names the project, servers are not compared with it.
  let ownership: Ownership = { ...config, project: "" };
  const filter = () => ({
    project: ownership.project,
    tag: config["server-tag"],
    needsPorts: config["network-id"] !== undefined,
  });
  const sources = createSources<Server>({
    lists: [(callContext) => listServers(apis, filter(), callContext, now)],
    read: (id, callContext) => readServer(apis, { id, project: ownership.project }, callContext),
    checkOwnership: (server, node) => checkOwnership(ownership, server, node),
    maxListAgeMs,
    now,
  });
  return createListedCloud({
    provider: "openstack",
    title: "OpenStack",
    machine: "server",
    budget,
    parseProviderID: (text) => parseProviderID(text, config.region),
    async prepare(callContext) {
      const session = await apis.getSession(callContext);
      if (session.kind === "fault") return session.fault;
      ownership = { ...config, project: session.value.project };
      return undefined;
    },
    sources,
    listFew: (callContext) => listFew(apis, filter(), callContext),
    isAlive: (server) => !hasEnded(server),
    buildInstance: (server) => buildInstance(server, config, ownership),
    locate: ({ id }) => ({
      id,
      account: ownership.project,
      network: formatNetwork(ownership),
      region: config.region,
    }),
    async check(callContext) {
      const session = await apis.getSession(callContext);
      const id = config["network-id"];
      if (session.kind === "fault" || id === undefined) return session;
      return checkNetwork(apis, { id, project: session.value.project }, callContext);
    },
    close: () => apis.close(),
  });
}

/**
 * Reads one server and its ports by id; undefined only if Nova itself says that it does not exist. Ports are
 * read in any case, so that the duration does not tell a foreign server from a missing one.
 */
async function readServer(
  apis: Apis,
  { id, project }: { readonly id: string; readonly project: string },
  callContext: CallContext,
): Promise<Outcome<Server | undefined>> {
  const template = "GET /servers/{id}";
  const [answer, ports] = await Promise.all([
    apis.get("compute", { operation: "servers_get", template, path: `/servers/${id}` }, callContext),
    listPorts(apis, { project, servers: [id] }, callContext),
  ]);
  if (answer.kind === "fault") {
    const { status, errorId } = answer.fault;
    return status === 404 && errorId === "itemNotFound" ? ok(undefined) : answer;
  }
  const parsed = ServerAnswer.safeParse(answer.value);
  if (!parsed.success) return fault("Unavailable", `${template}: the answer is not a server`);
  const { server } = parsed.data;
  if (server.id !== id)
    return fault("Unavailable", `${template}: asked for ${id}, the answer is server ${server.id}`);
  return ports.kind === "fault" ? ports : ok(addPorts(server, ports.value.byServer));
}

/**
 * Converts a server to the type of all clouds. A server without a field that every usable one has is
 * `Unavailable`.
 */
function buildInstance(
  server: Server,
  config: OpenStackCloudConfig,
  ownership: Ownership,
): Outcome<Instance> {
  const { id, status, flavor, "OS-EXT-AZ:availability_zone": zone } = server;
  if (!status) return buildMissingFault(id, "status");
  const type = chooseType(flavor);
  if (type === undefined) return buildMissingFault(id, "flavor");
  const addresses = buildAddresses(server, config);
  if (addresses.kind === "fault") return addresses;
  return ok({
    id,
    account: ownership.project,
    network: formatNetwork(ownership),
    state: toInstanceState(status),
    providerID: formatProviderID(id, config.regional ? config.region : undefined),
    type,
    zone: formatLabelValue(zone ?? ""),
    region: config.region,
    addresses: [...addresses.value],
    labels: {},
  });
}

/**
 * Returns the flavor's name or ID, whichever is a valid label value, else a valid form of its name. Since
 * microversion 2.47 a server shows only the flavor's original name, such as `SCS-2V:4:10`. Empty, and then
 * not written, if the name has no character that a label allows; undefined if the server shows no flavor.
 */
function chooseType(flavor: Server["flavor"]): string | undefined {
  const candidates = [flavor?.original_name, flavor?.name, flavor?.id].flatMap((text) => text || []);
  const [first] = candidates;
  const valid = candidates.find((text) => checkLabelValue(text) === undefined);
  return valid ?? (first === undefined ? undefined : formatLabelValue(first));
}

/** Formats a text as a label value, as the stock controller does. */
function formatLabelValue(text: string): string {
  const trim = (value: string): string => value.replace(/^[-_.]+|(?<![-_.])[-_.]+$/g, "");
  return trim(trim(text.replace(/[^-A-Za-z0-9_.]+/g, "-")).slice(0, 63));
}

function buildMissingFault(id: string, field: string): Outcome<never> {
  return fault("Unavailable", `the description of server ${id} lacks a valid ${field}`);
}

/** The part of the configuration that selects a node's addresses. */
type Networking = Pick<
  OpenStackCloudConfig,
  "public-network-name" | "internal-network-name" | "ipv6-support-disabled" | "address-sort-order"
>;

/**
 * Returns the addresses of a server in the stock controller's order. Fixed addresses of active ports come
 * first, then access addresses, then those that Nova lists by network, floating ones as external. Each
 * address appears once. A Hostname comes last, and only from the server's metadata: the server's display name
 * need not be its host name, so without metadata the node keeps the kubelet's Hostname.
 */
function buildAddresses(server: Server, networking: Networking): Outcome<readonly NodeAddress[]> {
  const { accessIPv4, accessIPv6, addresses: networks = {} } = server;
  const order = networking["address-sort-order"];
  const list = createList(networking["ipv6-support-disabled"]);

  for (const { status, fixed_ips: fixed } of server.ports)
    if (status === "ACTIVE") for (const { ip_address: ip } of fixed) list.add("InternalIP", ip);
  for (const ip of [accessIPv4, accessIPv6]) if (ip) list.add("ExternalIP", ip);
  for (const network of Object.keys(networks).toSorted()) {
    for (const { addr, "OS-EXT-IPS:type": type } of networks[network] ?? []) {
      if (type === "floating") list.add("ExternalIP", addr);
      else if (networking["public-network-name"]?.includes(network)) {
        list.remove(addr);
        list.add("ExternalIP", addr);
      } else if (networking["internal-network-name"]?.includes(network) ?? true) list.add("InternalIP", addr);
      else list.remove(addr);
    }
  }
  const invalid = list.getInvalid();
  if (invalid !== undefined) {
    const message = `the description of server ${server.id} lacks a valid address ("${invalid.slice(0, 64)}" is invalid)`;
    return fault("Unavailable", message);
  }
  const all = list.getAll();
  const sorted = order === undefined ? all : sortAddresses(all, order);
  const hostname = server.metadata?.["hostname"];
  return ok(hostname ? [...sorted, { type: "Hostname", address: hostname }] : sorted);
}

const IP_TYPES = ["InternalIP", "ExternalIP"] as const;

type IpType = (typeof IP_TYPES)[number];

/** Creates a list of normalized addresses, distinct by type. */
function createList(excludesIPv6: boolean) {
  const all = new Map<string, NodeAddress>();
  let invalid: string | undefined;
  return {
    add(type: IpType, text: string): void {
      const address = canonicalizeIp(text);
      if (address === undefined) invalid ??= text;
      else if (!excludesIPv6 || !address.includes(":")) all.set(`${type} ${address}`, { type, address });
    },
    /** Removes an address of any type. */
    remove(text: string): void {
      for (const type of IP_TYPES) all.delete(`${type} ${canonicalizeIp(text)}`);
    },
    getAll: (): readonly NodeAddress[] => [...all.values()],
    getInvalid: () => invalid,
  };
}
