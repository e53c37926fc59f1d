import type { Outcome } from "#clouds/http/outcome.ts";
import {
  COMPARTMENT_ANNOTATION,
  FAULT_DOMAIN_LABEL,
  FULL_AD_LABEL,
  IPV6_LABEL,
  type OciCloudConfig,
} from "#clouds/oci/config.ts";
import type { Member } from "#clouds/oci/members.ts";
import { hasEnded, type OciInstance, type Vnic } from "#clouds/oci/objects.ts";
import { formatProviderID } from "#clouds/oci/query.ts";
import { fault, ok } from "#clouds/outcome.ts";
import { canonicalizeIp } from "#core/cidr.ts";
import type { Instance, InstanceState } from "#core/instance.ts";
import type { Node, NodeAddress } from "#core/node/node.ts";

/**
 * Converts an instance to the type of all clouds, for a node. An instance without a field that every usable
 * one has is `Unavailable`.
 */
export function buildInstance(
  { instance, vcn, vnics }: Member,
  node: Node,
  { auth, ipFamily }: Pick<OciCloudConfig, "auth" | "ipFamily">,
): Outcome<Instance> {
  const { id, shape, region, availabilityDomain, faultDomain, compartmentId } = instance;
  if (!shape) return buildMissingFault(id, "shape");
  if (!region) return buildMissingFault(id, "region");
  if (!availabilityDomain) return buildMissingFault(id, "availability domain");
  const addresses = hasEnded(instance) ? ok([]) : buildAddresses(id, vnics, needsIpv6(node));
  if (addresses.kind === "fault") return addresses;
  return ok({
    id,
    account: auth.tenancy,
    network: vcn ?? "-",
    state: toInstanceState(instance),
    providerID: formatProviderID(id),
    type: shape,
    // Without the tenancy's prefix, which differs between tenancies.
    zone: availabilityDomain.slice(availabilityDomain.indexOf(":") + 1),
    // As in the API: some regions by their short key, as the stock controller writes them.
    region,
    addresses: addresses.value,
    labels: {
      ...(faultDomain ? { [FAULT_DOMAIN_LABEL]: faultDomain } : {}),
      ...(ipFamily === "IPv6" ? { [FULL_AD_LABEL]: availabilityDomain.replaceAll(":", ".") } : {}),
    },
    annotations: { [COMPARTMENT_ANNOTATION]: compartmentId },
  });
}

/** Whether a node gets its IPv6 addresses; the label's value is ignored, as in the stock controller. */
export function needsIpv6({ metadata }: Node): boolean {
  return Object.hasOwn(metadata.labels ?? {}, IPV6_LABEL);
}

/** An unknown state proves nothing: neither that an instance is gone nor that it is stopped. */
function toInstanceState(instance: OciInstance): InstanceState {
  if (hasEnded(instance)) return "terminated";
  const { lifecycleState } = instance;
  return lifecycleState === "STOPPING" || lifecycleState === "STOPPED" ? "stopped" : "running";
}

/**
 * Returns the addresses of the primary VNIC, then the other one's IPv4. IPv6 addresses are sorted as text,
 * because a VNIC and a list may differ in order.
 */
function buildAddresses(id: string, vnics: readonly Vnic[], ipv6: boolean): Outcome<NodeAddress[]> {
  const addresses = vnics.flatMap(({ privateIp, publicIp, ipv6Addresses }, index) => [
    ...(privateIp ? [{ type: "InternalIP", address: privateIp }] : []),
    ...(publicIp ? [{ type: "ExternalIP", address: publicIp }] : []),
    ...(ipv6 && index === 0 ? buildIpv6Addresses(ipv6Addresses) : []),
  ]);
  const invalid = addresses.find(({ address }) => canonicalizeIp(address) === undefined);
  if (invalid !== undefined)
    return buildMissingFault(id, `address ("${invalid.address.slice(0, 64)}" is invalid)`);
  return addresses.length === 0 ? buildMissingFault(id, "address") : ok(addresses);
}

function buildIpv6Addresses(addresses: readonly string[]): NodeAddress[] {
  const canonical = addresses.map((address) => canonicalizeIp(address) ?? address).toSorted();
  return canonical.map((address) => ({
    type: isUniqueLocal(address) ? "InternalIP" : "ExternalIP",
    address,
  }));
}

/** Whether a canonical IPv6 address is unique local: fc00::/7. */
function isUniqueLocal(address: string): boolean {
  return /^f[cd][0-9a-f]{2}:/.test(address);
}

function buildMissingFault(id: string, field: string): Outcome<never> {
  return fault("Unavailable", `the description of instance ${id} lacks a valid ${field}`);
}
