import { isIPv4, isIPv6 } from "node:net";
import type {
  Instance as Ec2Instance,
  InstanceNetworkInterface,
  NetworkInterface,
} from "@aws-sdk/client-ec2";
import type { NodeIPFamily } from "#clouds/aws/kind.ts";
import type { NodeAddress } from "#core/node/node.ts";

/** The addresses of an instance, a block for each family in the order given; throws a `RangeError` at what is no address. */
export function instanceAddresses(instance: Ec2Instance, families: readonly NodeIPFamily[]): NodeAddress[] {
  const interfaces = (instance.NetworkInterfaces ?? [])
    .filter((each) => each.Status === "in-use")
    .toSorted((a, b) => deviceIndex(a) - deviceIndex(b));
  const block: Readonly<Record<NodeIPFamily, () => NodeAddress[]>> = {
    ipv4: () => ipv4Addresses(instance, interfaces),
    ipv6: () => interfaces.flatMap((each) => internalIp(each.Ipv6Addresses?.[0]?.Ipv6Address)),
  };
  return families.flatMap((family) => block[family]());
}

/** The addresses of a Fargate node, which is nothing but its interface; the DNS name stands there once, whatever the families. */
export function interfaceAddresses(eni: NetworkInterface, families: readonly NodeIPFamily[]): NodeAddress[] {
  const address: Readonly<Record<NodeIPFamily, string | undefined>> = {
    ipv4: eni.PrivateIpAddress,
    ipv6: eni.Ipv6Addresses?.[0]?.Ipv6Address,
  };
  return [
    ...families.flatMap((family) => internalIp(address[family])),
    ...named("InternalDNS", eni.PrivateDnsName),
  ];
}

/** In the stock controller's order. The instance's own private address is not looked at: the interfaces have it. */
function ipv4Addresses(
  instance: Ec2Instance,
  interfaces: readonly InstanceNetworkInterface[],
): NodeAddress[] {
  const addresses = interfaces.flatMap((each) => each.PrivateIpAddresses ?? []);
  return [
    ...addresses.flatMap((each) => internalIp(each.PrivateIpAddress)),
    ...(instance.PublicIpAddress
      ? [{ type: "ExternalIP", address: normalized(instance.PublicIpAddress) }]
      : []),
    ...named("InternalDNS", instance.PrivateDnsName),
    ...named("Hostname", instance.PrivateDnsName),
    ...named("ExternalDNS", instance.PublicDnsName),
  ];
}

/** An interface without an attachment comes last. */
function deviceIndex(eni: InstanceNetworkInterface): number {
  return eni.Attachment?.DeviceIndex ?? Number.MAX_SAFE_INTEGER;
}

function internalIp(address: string | undefined): NodeAddress[] {
  return address ? [{ type: "InternalIP", address: normalized(address) }] : [];
}

function named(type: string, name: string | undefined): NodeAddress[] {
  return name ? [{ type, address: name }] : [];
}

/** One spelling for one address, or the node would look changed: no leading zeros, IPv6 as RFC 5952 has it. */
function normalized(address: string): string {
  const ipv4 = address.replace(/(^|\.)0+(?=\d)/g, "$1");
  if (isIPv4(ipv4)) return ipv4;
  if (isIPv6(address)) return new URL(`http://[${address}]`).hostname.slice(1, -1);
  throw new RangeError(`"${address}" is not an IP address`);
}
