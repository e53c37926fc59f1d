import type { Outcome } from "#clouds/http/outcome.ts";
import {
  COMPARTMENT_ANNOTATION,
  FAULT_DOMAIN_LABEL,
  FULL_AD_LABEL,
  IPV6_LABEL,
  type OciCloudConfig,
} from "#clouds/oci/kind.ts";
import type { Member } from "#clouds/oci/members.ts";
import { hasEnded, type OciInstance, type Vnic } from "#clouds/oci/objects.ts";
import { formatProviderID } from "#clouds/oci/provider-id.ts";
import { fault, ok } from "#clouds/outcome.ts";
import { canonicalIp } from "#core/cidr.ts";
import type { Instance, InstanceState } from "#core/instance.ts";
import type { Node, NodeAddress } from "#core/node/node.ts";

/** Puts an instance in the words of all clouds, for a node; one that lacks what no usable instance lacks is `Unavailable`. */
export function instanceOf(
  { instance, vcn, vnics }: Member,
  node: Node,
  { auth, ipFamily }: Pick<OciCloudConfig, "auth" | "ipFamily">,
): Outcome<Instance> {
  const { id, shape, region, availabilityDomain, faultDomain, compartmentId } = instance;
  if (!shape) return lacking(id, "shape");
  if (!region) return lacking(id, "region");
  if (!availabilityDomain) return lacking(id, "availability domain");
  const addresses = hasEnded(instance) ? ok([]) : addressesOf(id, vnics, wantsIpv6(node));
  if (addresses.kind === "fault") return addresses;
  return ok({
    id,
    account: auth.tenancy,
    network: vcn ?? "-",
    state: stateOf(instance),
    providerID: formatProviderID(id),
    type: shape,
    // Without the tenancy's prefix, which differs from tenancy to tenancy.
    zone: availabilityDomain.slice(availabilityDomain.indexOf(":") + 1),
    // As the API has it: some regions by their short key, as the stock controller writes them.
    region,
    addresses: addresses.value,
    labels: {
      ...(faultDomain ? { [FAULT_DOMAIN_LABEL]: faultDomain } : {}),
      ...(ipFamily === "IPv6" ? { [FULL_AD_LABEL]: availabilityDomain.replaceAll(":", ".") } : {}),
    },
    annotations: { [COMPARTMENT_ANNOTATION]: compartmentId },
  });
}

/** Whether a node is to have its IPv6 addresses; whatever the label says, as with the stock controller. */
export function wantsIpv6({ metadata }: Node): boolean {
  return Object.hasOwn(metadata.labels ?? {}, IPV6_LABEL);
}

/** Nothing follows from words that are not known: neither that an instance is gone nor that it stands still. */
function stateOf(instance: OciInstance): InstanceState {
  if (hasEnded(instance)) return "terminated";
  const { lifecycleState } = instance;
  return lifecycleState === "STOPPING" || lifecycleState === "STOPPED" ? "stopped" : "running";
}

/** Those of the primary VNIC, then the other one's IPv4. IPv6 in order of the text, as a VNIC and a list need not agree on one. */
function addressesOf(id: string, vnics: readonly Vnic[], ipv6: boolean): Outcome<NodeAddress[]> {
  const addresses = vnics.flatMap(({ privateIp, publicIp, ipv6Addresses }, index) => [
    ...(privateIp ? [{ type: "InternalIP", address: privateIp }] : []),
    ...(publicIp ? [{ type: "ExternalIP", address: publicIp }] : []),
    ...(ipv6 && index === 0 ? ipv6Of(ipv6Addresses) : []),
  ]);
  const broken = addresses.find(({ address }) => canonicalIp(address) === undefined);
  if (broken !== undefined) return lacking(id, `address ("${broken.address.slice(0, 64)}" is none)`);
  return addresses.length === 0 ? lacking(id, "address") : ok(addresses);
}

function ipv6Of(addresses: readonly string[]): NodeAddress[] {
  const canonical = addresses.map((address) => canonicalIp(address) ?? address).toSorted();
  return canonical.map((address) => ({
    type: isUniqueLocal(address) ? "InternalIP" : "ExternalIP",
    address,
  }));
}

/** Whether a canonical IPv6 address is for use within a site alone: fc00::/7. */
function isUniqueLocal(address: string): boolean {
  return /^f[cd][0-9a-f]{2}:/.test(address);
}

function lacking(id: string, what: string): Outcome<never> {
  return fault("Unavailable", `the description of instance ${id} lacks a valid ${what}`);
}
