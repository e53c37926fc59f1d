import { type Droplet, type DropletAddress, formatProviderID } from "#clouds/digitalocean/droplet.ts";
import type { Outcome } from "#clouds/http/outcome.ts";
import { fault, ok } from "#clouds/outcome.ts";
import { canonicalizeIp } from "#core/cidr.ts";
import type { Instance } from "#core/instance.ts";
import type { NodeAddress } from "#core/node/node.ts";

/** DigitalOcean does not show the account's number, and ids of droplets are unique across accounts. */
export const ACCOUNT = "digitalocean";

/** Formats a droplet's network as in annotations of nodes. */
export function formatNetwork({ region, vpc_uuid: vpc }: Droplet): string {
  return `${region?.slug || "-"}/${vpc || "-"}`;
}

/**
 * Converts a droplet to the type of all clouds. A droplet without a field that every usable one has is
 * `Unavailable`.
 */
export function buildInstance(droplet: Droplet): Outcome<Instance> {
  const { id, status, size_slug: size, region } = droplet;
  if (!status) return buildMissingFault(id, "status");
  if (!size) return buildMissingFault(id, "size");
  if (!region?.slug) return buildMissingFault(id, "region");
  const addresses = buildAddresses(droplet);
  if (addresses.kind === "fault") return addresses;
  return ok({
    id,
    account: ACCOUNT,
    network: formatNetwork(droplet),
    // An unknown status proves nothing: neither that a droplet is gone nor that it is stopped.
    state: status === "off" ? "stopped" : "running",
    providerID: formatProviderID(id),
    type: size,
    zone: "",
    region: region.slug,
    addresses: addresses.value,
    labels: {},
  });
}

/** Returns the first address of each type, in the stock controller's order. */
function buildAddresses({ id, name, networks }: Droplet): Outcome<NodeAddress[]> {
  if (networks === undefined) return buildMissingFault(id, "list of networks");
  const internal = findFirst(networks.v4, "private");
  if (internal === undefined)
    return buildMissingFault(id, "private IPv4 address: a droplet outside of any VPC cannot be a node");
  const external = [findFirst(networks.v4, "public"), findFirst(networks.v6, "public")].filter(
    (each) => each !== undefined,
  );
  const invalid = [internal, ...external].find((each) => canonicalizeIp(each) === undefined);
  if (invalid !== undefined) return buildMissingFault(id, `address ("${invalid.slice(0, 64)}" is invalid)`);
  return ok([
    { type: "Hostname", address: name },
    { type: "InternalIP", address: canonicalizeIp(internal) ?? internal },
    ...external.map((each) => ({ type: "ExternalIP", address: canonicalizeIp(each) ?? each })),
  ]);
}

function findFirst(addresses: readonly DropletAddress[], type: string): string | undefined {
  return addresses.find((each) => each.type === type)?.ip_address;
}

function buildMissingFault(id: string, field: string): Outcome<never> {
  return fault("Unavailable", `the description of droplet ${id} lacks a valid ${field}`);
}
