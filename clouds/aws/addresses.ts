import { isIPv4, isIPv6 } from "node:net";
import type {
  Instance as Ec2Instance,
  InstanceNetworkInterface,
  NetworkInterface,
} from "@aws-sdk/client-ec2";
import type { NodeIPFamily } from "#clouds/aws/config.ts";
import type { NodeAddress } from "#core/node/node.ts";

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
