import { isIPv4, isIPv6 } from "node:net";
import type { Instance as Ec2Instance } from "@aws-sdk/client-ec2";
import type { AwsCloudConfig } from "#clouds/aws/kind.ts";
import type { Node } from "#core/node/node.ts";

/** One way to tell which instance a node without provider ID is: both sides are brought to keys, and equal keys match. */
export interface Means {
  /** What the key is, as messages name it. */
  readonly name: string;
  /** Evidence short of identity. */
  readonly guess: boolean;
  /** The filter of DescribeInstances; its value is the key itself, or the pattern made of it. */
  readonly filter: string;
  readonly pattern?: (key: string) => string;
  readonly keysOfNode: (node: Node, region: string) => readonly string[];
  readonly keysOfInstance: (instance: Ec2Instance) => readonly string[];
}

/** What is tried, in this order. EC2 has an index for exact values; for a pattern it may read through all instances. */
export function meansOf({ matchByNodeIP }: AwsCloudConfig): readonly Means[] {
  const byName = [PRIVATE_DNS_NAME, EC2_DOMAIN, FIRST_LABEL];
  return matchByNodeIP ? [...byName, PRIMARY_IPV4, IPV6] : byName;
}

/** The name that EC2 gives an instance, where it stands on the node as it is. */
export const PRIVATE_DNS_NAME: Means = {
  name: "private DNS name",
  guess: false,
  filter: "private-dns-name",
  keysOfNode: ({ metadata: { name } }) => (DNS_NAME.test(name) ? [name] : []),
  keysOfInstance: ({ PrivateDnsName: name }) => (name ? [name] : []),
};

/** For host names that are short, or under a domain that EC2 does not know of. */
const EC2_DOMAIN: Means = {
  ...PRIVATE_DNS_NAME,
  name: "private DNS name under EC2's own domain",
  guess: true,
  keysOfNode({ metadata: { name } }, region) {
    const key = `${firstLabel(name)}.${region === "us-east-1" ? "ec2.internal" : `${region}.compute.internal`}`;
    return DNS_NAME.test(name) && key !== name ? [key] : [];
  },
};

/** For instances that are under another domain than EC2's own, as DHCP options make them. */
const FIRST_LABEL: Means = {
  ...PRIVATE_DNS_NAME,
  name: "first label of the private DNS name",
  guess: true,
  pattern: (key) => `${key}.*`,
  keysOfNode: ({ metadata: { name } }) => (DNS_NAME.test(name) ? [firstLabel(name)] : []),
  keysOfInstance: ({ PrivateDnsName: name }) => (name ? [firstLabel(name)] : []),
};

const PRIMARY_IPV4: Means = {
  name: "the InternalIP that the node reports (IPv4)",
  guess: true,
  filter: "private-ip-address",
  keysOfNode: (node) => internalIps(node).filter(isIPv4),
  keysOfInstance: ({ PrivateIpAddress: address }) => (address ? [address] : []),
};

const IPV6: Means = {
  name: "the InternalIP that the node reports (IPv6)",
  guess: true,
  filter: "network-interface.ipv6-addresses.ipv6-address",
  keysOfNode: (node) => internalIps(node).filter(isIPv6),
  keysOfInstance: ({ NetworkInterfaces: interfaces = [] }) =>
    interfaces.flatMap((eni) => (eni.Ipv6Addresses ?? []).flatMap(({ Ipv6Address: ip }) => ip ?? [])),
};

/** What a node's name may be; above all without the `*` and `?` that are wildcards in a filter. */
const DNS_NAME = /^[0-9A-Za-z]([-.0-9A-Za-z]*[0-9A-Za-z])?$/;

function firstLabel(name: string): string {
  return name.split(".")[0] ?? name;
}

function internalIps(node: Node): readonly string[] {
  const addresses = node.status.addresses ?? [];
  return addresses.filter(({ type }) => type === "InternalIP").map(({ address }) => address);
}
