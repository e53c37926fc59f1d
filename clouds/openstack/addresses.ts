import type { Outcome } from "#clouds/http/outcome.ts";
import type { OpenStackCloudConfig } from "#clouds/openstack/config.ts";
import type { Server } from "#clouds/openstack/server.ts";
import { sortAddresses } from "#clouds/openstack/sort-order.ts";
import { fault, ok } from "#clouds/outcome.ts";
import { canonicalizeIp } from "#core/cidr.ts";
import type { NodeAddress } from "#core/node/node.ts";

/** The part of the configuration that selects a node's addresses. */
export type Networking = Pick<
  OpenStackCloudConfig,
  "public-network-name" | "internal-network-name" | "ipv6-support-disabled" | "address-sort-order"
>;

/**
 * Returns the addresses of a server in the stock controller's order. Fixed addresses of active ports come
 * first, then access addresses, then those that Nova lists by network, floating ones as external. Each
 * address appears once. A Hostname comes last, and only from the server's metadata: the server's display name
 * need not be its host name, so without metadata the node keeps the kubelet's Hostname.
 */
export function buildAddresses(server: Server, networking: Networking): Outcome<readonly NodeAddress[]> {
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
