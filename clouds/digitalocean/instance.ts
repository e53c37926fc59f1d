import type { Droplet, DropletAddress } from "#clouds/digitalocean/droplet.ts";
import { formatProviderID } from "#clouds/digitalocean/provider-id.ts";
import type { Outcome } from "#clouds/http/outcome.ts";
import { fault, ok } from "#clouds/outcome.ts";
import { canonicalIp } from "#core/cidr.ts";
import type { Instance } from "#core/instance.ts";
import type { NodeAddress } from "#core/node/node.ts";

/** DigitalOcean shows no number of the account, and ids of droplets are unique over all of them. */
export const ACCOUNT = "digitalocean";

/** The network of a droplet, as annotations of nodes have it. */
export function formatNetwork({ region, vpc_uuid: vpc }: Droplet): string {
  return `${region?.slug || "-"}/${vpc || "-"}`;
}

/** Puts a droplet in the words of all clouds; one that lacks what no usable droplet lacks is `Unavailable`. */
export function instanceOf(droplet: Droplet): Outcome<Instance> {
  const { id, status, size_slug: size, region } = droplet;
  if (!status) return lacking(id, "status");
  if (!size) return lacking(id, "size");
  if (!region?.slug) return lacking(id, "region");
  const addresses = addressesOf(droplet);
  if (addresses.kind === "fault") return addresses;
  return ok({
    id,
    account: ACCOUNT,
    network: formatNetwork(droplet),
    // Nothing follows from words that are not known: neither that a droplet is gone nor that it stands still.
    state: status === "off" ? "stopped" : "running",
    providerID: formatProviderID(id),
    type: size,
    zone: "",
    region: region.slug,
    addresses: addresses.value,
    labels: {},
  });
}

/** The first address of each kind, in the stock controller's order. */
function addressesOf({ id, name, networks }: Droplet): Outcome<NodeAddress[]> {
  if (networks === undefined) return lacking(id, "list of networks");
  const internal = first(networks.v4, "private");
  if (internal === undefined)
    return lacking(id, "private IPv4 address: a droplet outside of any VPC cannot be a node");
  const external = [first(networks.v4, "public"), first(networks.v6, "public")].filter(
    (each) => each !== undefined,
  );
  const broken = [internal, ...external].find((each) => canonicalIp(each) === undefined);
  if (broken !== undefined) return lacking(id, `address ("${broken.slice(0, 64)}" is none)`);
  return ok([
    { type: "Hostname", address: name },
    { type: "InternalIP", address: canonicalIp(internal) ?? internal },
    ...external.map((each) => ({ type: "ExternalIP", address: canonicalIp(each) ?? each })),
  ]);
}

function first(addresses: readonly DropletAddress[], type: string): string | undefined {
  return addresses.find((each) => each.type === type)?.ip_address;
}

function lacking(id: string, what: string): Outcome<never> {
  return fault("Unavailable", `the description of droplet ${id} lacks a valid ${what}`);
}
