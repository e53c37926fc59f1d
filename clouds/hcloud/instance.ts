import { isIPv4 } from "node:net";
import type { HcloudCloudConfig } from "#clouds/hcloud/kind.ts";
import { formatProviderID } from "#clouds/hcloud/provider-id.ts";
import type { Server } from "#clouds/hcloud/server.ts";
import type { Outcome } from "#clouds/http/outcome.ts";
import { fault, ok } from "#clouds/outcome.ts";
import { canonicalIp, formatCidr, parseCidr } from "#core/cidr.ts";
import type { Instance, InstanceState } from "#core/instance.ts";
import type { NodeAddress } from "#core/node/node.ts";

/** A token shows no number of its project, and ids of servers are unique over all of them. */
export const ACCOUNT = "hcloud";

/** What of the configuration says what a node is told of its server. */
export type Telling = Pick<HcloudCloudConfig, "addressFamily" | "zoneLabel"> & {
  /** The network's id. */
  readonly network: string | undefined;
};

/** Puts a server in the words of all clouds; one that lacks what no usable server lacks is `Unavailable`. */
export function instanceOf(server: Server, telling: Telling): Outcome<Instance> {
  const { id, status, server_type: type, location } = server;
  if (!status) return lacking(id, "status");
  if (type === undefined) return lacking(id, "server type");
  if (location === undefined) return lacking(id, "location");
  const addresses = addressesOf(server, telling);
  if (addresses.kind === "fault") return addresses;
  return ok({
    id,
    account: ACCOUNT,
    network: `${location.name}/${telling.network ?? "-"}`,
    state: STATES.get(status) ?? "running",
    providerID: formatProviderID(id),
    type: type.name,
    zone: telling.zoneLabel ? (ZONES.get(location.name) ?? location.name) : "",
    region: location.name,
    addresses: addresses.value,
    labels: { "instance.hetzner.cloud/provided-by": "cloud" },
  });
}

/** Nothing follows from words that are not known: neither that a server is gone nor that it stands still. */
const STATES: ReadonlyMap<string, InstanceState> = new Map([
  ["off", "stopped"],
  ["deleting", "shutting-down"],
]);

/** The zone label that nodes of each location have had since Hetzner had data centers; of later ones it is the location. */
const ZONES: ReadonlyMap<string, string> = new Map([
  ["fsn1", "fsn1-dc14"],
  ["nbg1", "nbg1-dc3"],
  ["hel1", "hel1-dc2"],
  ["ash", "ash-dc1"],
  ["hil", "hil-dc1"],
  ["sin", "sin-dc1"],
]);

/** In the stock controller's order: host name, public IPv4, public IPv6, those of the network. */
function addressesOf(
  { id, name, public_net: net, private_net: attached = [] }: Server,
  { addressFamily, network }: Telling,
): Outcome<NodeAddress[]> {
  if (net === undefined) return lacking(id, "public network");
  const { ipv4, ipv6 } = net;
  const addresses: NodeAddress[] = [{ type: "Hostname", address: name }];
  if (addressFamily !== "ipv6" && ipv4) {
    if (!isIPv4(ipv4.ip)) return broken(id, ipv4.ip);
    addresses.push({ type: "ExternalIP", address: ipv4.ip });
  }
  if (addressFamily !== "ipv4" && ipv6) {
    const address = firstHost(ipv6.ip);
    if (address === undefined) return broken(id, ipv6.ip);
    addresses.push({ type: "ExternalIP", address });
  }
  for (const { network: of, ip } of attached) {
    if (of !== network) continue;
    const address = canonicalIp(ip);
    if (address === undefined) return broken(id, ip);
    addresses.push({ type: "InternalIP", address });
  }
  return ok(addresses);
}

/** What a server has of the IPv6 network that is its own: the first address after the network's. */
function firstHost(network: string): string | undefined {
  const cidr = parseCidr(network);
  if (cidr?.family !== 6) return undefined;
  return formatCidr({ family: 6, first: cidr.first | 1n, length: 128 }).slice(0, -"/128".length);
}

function broken(id: string, address: string): Outcome<never> {
  return lacking(id, `address ("${address.slice(0, 64)}" is none)`);
}

function lacking(id: string, what: string): Outcome<never> {
  return fault("Unavailable", `the description of server ${id} lacks a valid ${what}`);
}
