import { isIPv4 } from "node:net";
import type { HcloudCloudConfig } from "#clouds/hcloud/config.ts";
import { formatProviderID, type Server } from "#clouds/hcloud/server.ts";
import type { Outcome } from "#clouds/http/outcome.ts";
import { fault, ok } from "#clouds/outcome.ts";
import { canonicalizeIp, formatCidr, parseCidr } from "#core/cidr.ts";
import type { Instance, InstanceState } from "#core/instance.ts";
import type { NodeAddress } from "#core/node/node.ts";

/** A token does not show its project, and ids of servers are unique across projects. */
export const ACCOUNT = "hcloud";

/** The part of the configuration that decides what a node gets from its server. */
export type InstanceConfig = Pick<HcloudCloudConfig, "addressFamily" | "zoneLabel"> & {
  /** The network's id. */
  readonly network: string | undefined;
};

/**
 * Converts a server to the type of all clouds. A server without a field that every usable one has is
 * `Unavailable`.
 */
export function buildInstance(server: Server, config: InstanceConfig): Outcome<Instance> {
  const { id, status, server_type: type, location } = server;
  if (!status) return buildMissingFault(id, "status");
  if (type === undefined) return buildMissingFault(id, "server type");
  if (location === undefined) return buildMissingFault(id, "location");
  const addresses = buildAddresses(server, config);
  if (addresses.kind === "fault") return addresses;
  return ok({
    id,
    account: ACCOUNT,
    network: `${location.name}/${config.network ?? "-"}`,
    state: STATES.get(status) ?? "running",
    providerID: formatProviderID(id),
    type: type.name,
    zone: config.zoneLabel ? (ZONES.get(location.name) ?? location.name) : "",
    region: location.name,
    addresses: addresses.value,
    labels: { "instance.hetzner.cloud/provided-by": "cloud" },
  });
}

/** An unknown state proves nothing: neither that a server is gone nor that it is stopped. */
const STATES: ReadonlyMap<string, InstanceState> = new Map([
  ["off", "stopped"],
  ["deleting", "shutting-down"],
]);

/** The zone label of each location since Hetzner had data centers; newer locations use their own name. */
const ZONES: ReadonlyMap<string, string> = new Map([
  ["fsn1", "fsn1-dc14"],
  ["nbg1", "nbg1-dc3"],
  ["hel1", "hel1-dc2"],
  ["ash", "ash-dc1"],
  ["hil", "hil-dc1"],
  ["sin", "sin-dc1"],
]);

/** In the stock controller's order: host name, public IPv4, public IPv6, addresses of the network. */
function buildAddresses(
  { id, name, public_net: net, private_net: attached = [] }: Server,
  { addressFamily, network }: InstanceConfig,
): Outcome<NodeAddress[]> {
  if (net === undefined) return buildMissingFault(id, "public network");
  const { ipv4, ipv6 } = net;
  const addresses: NodeAddress[] = [{ type: "Hostname", address: name }];
  if (addressFamily !== "ipv6" && ipv4) {
    if (!isIPv4(ipv4.ip)) return buildInvalidAddressFault(id, ipv4.ip);
    addresses.push({ type: "ExternalIP", address: ipv4.ip });
  }
  if (addressFamily !== "ipv4" && ipv6) {
    const address = getFirstHost(ipv6.ip);
    if (address === undefined) return buildInvalidAddressFault(id, ipv6.ip);
    addresses.push({ type: "ExternalIP", address });
  }
  for (const { network: attachedNetwork, ip } of attached) {
    if (attachedNetwork !== network) continue;
    const address = canonicalizeIp(ip);
    if (address === undefined) return buildInvalidAddressFault(id, ip);
    addresses.push({ type: "InternalIP", address });
  }
  return ok(addresses);
}

/** Returns the server's address in its own IPv6 network: the first one after the network's. */
function getFirstHost(network: string): string | undefined {
  const cidr = parseCidr(network);
  if (cidr?.family !== 6) return undefined;
  return formatCidr({ family: 6, first: cidr.first | 1n, length: 128 }).slice(0, -"/128".length);
}

function buildInvalidAddressFault(id: string, address: string): Outcome<never> {
  return buildMissingFault(id, `address ("${address.slice(0, 64)}" is invalid)`);
}

function buildMissingFault(id: string, field: string): Outcome<never> {
  return fault("Unavailable", `the description of server ${id} lacks a valid ${field}`);
}
