import { isIPv4, isIPv6 } from "node:net";
import type { Instance as Ec2Instance } from "@aws-sdk/client-ec2";
import type { AwsCloudConfig } from "#clouds/aws/config.ts";
import type { Node } from "#core/node/node.ts";

/**
 * A way to find the instance of a node without provider ID: node and instance match if their keys are equal.
 */
export interface NodeMatcher {
  /** The key's name in messages. */
  readonly name: string;
  /** Whether a match is weaker than identity. */
  readonly isGuess: boolean;
  /** The filter of DescribeInstances; its value is the key, or a pattern built from it. */
  readonly filter: string;
  readonly pattern?: (key: string) => string;
  readonly listNodeKeys: (node: Node, region: string) => readonly string[];
  readonly listInstanceKeys: (instance: Ec2Instance) => readonly string[];
}

/**
 * Returns the matchers in the order of use. EC2 has an index for exact values; for a pattern it may scan all
 * instances.
 */
export function selectMatchers({ matchByNodeIP }: AwsCloudConfig): readonly NodeMatcher[] {
  const byName = [PRIVATE_DNS_NAME, EC2_DOMAIN, FIRST_LABEL];
  return matchByNodeIP ? [...byName, PRIMARY_IPV4, IPV6] : byName;
}

/** Matches EC2's name of an instance against the unchanged name of the node. */
export const PRIVATE_DNS_NAME: NodeMatcher = {
  name: "private DNS name",
  isGuess: false,
  filter: "private-dns-name",
  listNodeKeys: ({ metadata: { name } }) => (DNS_NAME.test(name) ? [name] : []),
  listInstanceKeys: ({ PrivateDnsName: name }) => (name ? [name] : []),
};

/** Matches host names that are short, or under a domain unknown to EC2. */
const EC2_DOMAIN: NodeMatcher = {
  ...PRIVATE_DNS_NAME,
  name: "private DNS name under EC2's own domain",
  isGuess: true,
  listNodeKeys({ metadata: { name } }, region) {
    const key = `${getFirstLabel(name)}.${region === "us-east-1" ? "ec2.internal" : `${region}.compute.internal`}`;
    return DNS_NAME.test(name) && key !== name ? [key] : [];
  },
};

/** Matches instances under a domain other than EC2's own, as set by DHCP options. */
const FIRST_LABEL: NodeMatcher = {
  ...PRIVATE_DNS_NAME,
  name: "first label of the private DNS name",
  isGuess: true,
  pattern: (key) => `${key}.*`,
  listNodeKeys: ({ metadata: { name } }) => (DNS_NAME.test(name) ? [getFirstLabel(name)] : []),
  listInstanceKeys: ({ PrivateDnsName: name }) => (name ? [getFirstLabel(name)] : []),
};

const PRIMARY_IPV4: NodeMatcher = {
  name: "the InternalIP that the node reports (IPv4)",
  isGuess: true,
  filter: "private-ip-address",
  listNodeKeys: (node) => listInternalIps(node).filter(isIPv4),
  listInstanceKeys: ({ PrivateIpAddress: address }) => (address ? [address] : []),
};

const IPV6: NodeMatcher = {
  name: "the InternalIP that the node reports (IPv6)",
  isGuess: true,
  filter: "network-interface.ipv6-addresses.ipv6-address",
  listNodeKeys: (node) => listInternalIps(node).filter(isIPv6),
  listInstanceKeys: ({ NetworkInterfaces: interfaces = [] }) =>
    interfaces.flatMap((eni) => (eni.Ipv6Addresses ?? []).flatMap(({ Ipv6Address: ip }) => ip ?? [])),
};

/** Valid names of nodes, in particular without `*` and `?`, which are wildcards in a filter. */
const DNS_NAME = /^[0-9A-Za-z]([-.0-9A-Za-z]*[0-9A-Za-z])?$/;

function getFirstLabel(name: string): string {
  return name.split(".")[0] ?? name;
}

function listInternalIps(node: Node): readonly string[] {
  const addresses = node.status.addresses ?? [];
  return addresses.filter(({ type }) => type === "InternalIP").map(({ address }) => address);
}
