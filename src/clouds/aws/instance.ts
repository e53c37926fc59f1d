import { isIPv4, isIPv6 } from "node:net";
import type {
  Instance as Ec2Instance,
  InstanceNetworkInterface,
  NetworkInterface,
} from "@aws-sdk/client-ec2";
import type { AwsCloudConfig, NodeIPFamily } from "#clouds/aws/config.ts";
import type { FoundInstance } from "#clouds/aws/describe-instances.ts";
import type { Outcome } from "#clouds/aws/errors.ts";
import { buildTagLabels } from "#clouds/aws/labels-from-tags.ts";
import { formatProviderID } from "#clouds/aws/provider-id.ts";
import { fault, ok } from "#clouds/outcome.ts";
import { type Instance, InstanceState } from "#core/instance.ts";
import type { Node, NodeAddress } from "#core/node/node.ts";

/**
 * An instance, and the facts about its place that EC2 returned with it. Labels that do not come from its tags
 * are added later.
 */
export interface InstanceFacts {
  readonly instance: Instance;
  /** The zone's id, if the answer had it. */
  readonly zoneId: string | undefined;
}

/**
 * Converts EC2's description to the type of all clouds. A description without a field that every instance has
 * is `Unavailable`.
 */
export function buildInstanceFacts(
  found: FoundInstance,
  node: Node,
  config: AwsCloudConfig,
): Outcome<InstanceFacts> {
  const { instance, id } = found;
  const state = InstanceState.safeParse(instance.State?.Name);
  if (!state.success) return buildMissingFault(id, "state");
  const zone = instance.Placement?.AvailabilityZone;
  // A terminated instance needs no other field.
  if (!zone && state.data !== "terminated") return buildMissingFault(id, "zone");
  try {
    const facts: Instance = {
      id,
      account: found.account,
      network: instance.VpcId ?? "",
      state: state.data,
      providerID: node.spec.providerID || formatProviderID(zone ?? "", id),
      type: instance.InstanceType ?? "",
      zone: zone ?? "",
      region: config.region,
      addresses: buildInstanceAddresses(instance, config.nodeIPFamilies),
      labels: buildTagLabels(instance.Tags, config.labelsFromTags),
    };
    return ok({ instance: facts, zoneId: instance.Placement?.AvailabilityZoneId });
  } catch (error) {
    return buildMissingFault(id, `addresses (${error})`);
  }
}

/**
 * Converts a Fargate node's interface to the same type: it runs while its interface is attached, and has no
 * instance type.
 */
export function buildInterfaceFacts(
  eni: NetworkInterface,
  node: Node,
  config: AwsCloudConfig,
): Outcome<InstanceFacts> {
  const id = eni.NetworkInterfaceId;
  const zone = eni.AvailabilityZone;
  if (!id || !zone) return buildMissingFault(id ?? "a network interface", "zone");
  try {
    const facts: Instance = {
      id,
      account: eni.OwnerId ?? "",
      network: eni.VpcId ?? "",
      state: "running",
      providerID: node.spec.providerID ?? formatProviderID(zone, id),
      type: "",
      zone,
      region: config.region,
      addresses: buildInterfaceAddresses(eni, config.nodeIPFamilies),
      labels: {},
    };
    return ok({ instance: facts, zoneId: eni.AvailabilityZoneId });
  } catch (error) {
    return buildMissingFault(id, `addresses (${error})`);
  }
}

function buildMissingFault(id: string, field: string): Outcome<never> {
  return fault("Unavailable", `EC2's description of ${id} lacks a valid ${field}`);
}

/**
 * Returns the addresses of an instance, one block per family in the given order. Throws a `RangeError` for an
 * invalid address.
 */
export function buildInstanceAddresses(
  instance: Ec2Instance,
  families: readonly NodeIPFamily[],
): NodeAddress[] {
  const interfaces = (instance.NetworkInterfaces ?? [])
    .filter((each) => each.Status === "in-use")
    .toSorted((a, b) => getDeviceIndex(a) - getDeviceIndex(b));
  const block: Readonly<Record<NodeIPFamily, () => NodeAddress[]>> = {
    ipv4: () => listIpv4Addresses(instance, interfaces),
    ipv6: () => interfaces.flatMap((each) => buildInternalIp(each.Ipv6Addresses?.[0]?.Ipv6Address)),
  };
  return families.flatMap((family) => block[family]());
}

/**
 * Returns the addresses of a Fargate node, which is a single network interface. The DNS name appears once,
 * however many families there are.
 */
export function buildInterfaceAddresses(
  eni: NetworkInterface,
  families: readonly NodeIPFamily[],
): NodeAddress[] {
  const address: Readonly<Record<NodeIPFamily, string | undefined>> = {
    ipv4: eni.PrivateIpAddress,
    ipv6: eni.Ipv6Addresses?.[0]?.Ipv6Address,
  };
  return [
    ...families.flatMap((family) => buildInternalIp(address[family])),
    ...buildNamedAddress("InternalDNS", eni.PrivateDnsName),
  ];
}

/**
 * Returns IPv4 addresses in the stock controller's order. The instance's own private address is not read,
 * because its interfaces have it.
 */
function listIpv4Addresses(
  instance: Ec2Instance,
  interfaces: readonly InstanceNetworkInterface[],
): NodeAddress[] {
  const addresses = interfaces.flatMap((each) => each.PrivateIpAddresses ?? []);
  return [
    ...addresses.flatMap((each) => buildInternalIp(each.PrivateIpAddress)),
    ...(instance.PublicIpAddress
      ? [{ type: "ExternalIP", address: normalizeAddress(instance.PublicIpAddress) }]
      : []),
    ...buildNamedAddress("InternalDNS", instance.PrivateDnsName),
    ...buildNamedAddress("Hostname", instance.PrivateDnsName),
    ...buildNamedAddress("ExternalDNS", instance.PublicDnsName),
  ];
}

/** Interfaces without an attachment sort last. */
function getDeviceIndex(eni: InstanceNetworkInterface): number {
  return eni.Attachment?.DeviceIndex ?? Number.MAX_SAFE_INTEGER;
}

function buildInternalIp(address: string | undefined): NodeAddress[] {
  return address ? [{ type: "InternalIP", address: normalizeAddress(address) }] : [];
}

function buildNamedAddress(type: string, name: string | undefined): NodeAddress[] {
  return name ? [{ type, address: name }] : [];
}

/**
 * Normalizes an address, so that spelling alone never changes a node: no leading zeros, IPv6 as in RFC 5952.
 */
function normalizeAddress(address: string): string {
  const ipv4 = address.replace(/(^|\.)0+(?=\d)/g, "$1");
  if (isIPv4(ipv4)) return ipv4;
  if (isIPv6(address)) return new URL(`http://[${address}]`).hostname.slice(1, -1);
  throw new RangeError(`"${address}" is not an IP address`);
}
