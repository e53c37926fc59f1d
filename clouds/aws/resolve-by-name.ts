import { isIPv4, isIPv6 } from "node:net";
import type { Instance as Ec2Instance, Filter } from "@aws-sdk/client-ec2";
import type { AwsCluster } from "#clouds/aws/belonging.ts";
import { chunksOf, describeInstances, type Found, roomBeside } from "#clouds/aws/describe-instances.ts";
import { answerOf, type Fault } from "#clouds/aws/errors.ts";
import { choose, notFound, type Resolution, type Resolutions } from "#clouds/aws/resolution.ts";
import type { Session } from "#clouds/aws/session.ts";
import type { Node } from "#core/node/node.ts";

/** One way to tell which instance a node without provider ID is: both sides are brought to keys, and equal keys match. */
interface Means {
  /** What the key is, as messages name it. */
  readonly name: string;
  /** Evidence short of identity. */
  readonly guess: boolean;
  /** The filter of DescribeInstances, and its values for a key. */
  readonly filter: string;
  readonly filterValues: (key: string, region: string) => readonly string[];
  readonly keysOfNode: (node: Node) => readonly string[];
  readonly keysOfInstance: (instance: Ec2Instance) => readonly string[];
}

/**
 * Looks instances up for nodes that have no provider ID, by each means in turn for those not found yet. Only what
 * nothing at all was found for, by any means, is "not found". `guesses` are the nodes that were found by less than
 * their own name.
 */
export async function resolveByName(
  nodes: readonly Node[],
  session: Session,
  cluster: AwsCluster,
): Promise<{ readonly resolved: Resolutions; readonly guesses: ReadonlySet<Node> }> {
  const resolved = new Map<Node, Resolution>();
  const guesses = new Set<Node>();
  let pending = nodes;
  for (const means of meansOf(cluster)) {
    const found = await lookUp(pending, means, session, cluster);
    for (const [node, resolution] of found) {
      resolved.set(node, resolution);
      if (means.guess) guesses.add(node);
    }
    pending = pending.filter((node) => !resolved.has(node));
    if (pending.length === 0) break;
  }
  const tried = meansOf(cluster).map((means) => means.name);
  for (const node of pending) {
    resolved.set(node, notFound(`node ${node.metadata.name}: EC2 has no instance by ${tried.join(" or ")}`));
  }
  return { resolved, guesses };
}

const PRIVATE_DNS_NAME: Means = {
  name: "private DNS name",
  guess: false,
  filter: "private-dns-name",
  filterValues: (key) => [key],
  keysOfNode: ({ metadata: { name } }) => (DNS_NAME.test(name) ? [name] : []),
  keysOfInstance: ({ PrivateDnsName: name }) => (name ? [name] : []),
};

/** For host names that are short, or under another domain than EC2's, as DHCP options make them. */
const FIRST_LABEL: Means = {
  name: "first label of the private DNS name",
  guess: true,
  filter: "private-dns-name",
  // EC2's own domain is there for endpoints that speak EC2's API but know no wildcards.
  filterValues: (key, region) => [`${key}.*`, `${key}.${defaultDomain(region)}`],
  keysOfNode: ({ metadata: { name } }) => (DNS_NAME.test(name) ? [firstLabel(name)] : []),
  keysOfInstance: ({ PrivateDnsName: name }) => (name ? [firstLabel(name)] : []),
};

const PRIMARY_IPV4: Means = {
  name: "the InternalIP that the node reports (IPv4)",
  guess: true,
  filter: "private-ip-address",
  filterValues: (key) => [key],
  keysOfNode: (node) => internalIps(node).filter(isIPv4),
  keysOfInstance: ({ PrivateIpAddress: address }) => (address ? [address] : []),
};

const IPV6: Means = {
  name: "the InternalIP that the node reports (IPv6)",
  guess: true,
  filter: "network-interface.ipv6-addresses.ipv6-address",
  filterValues: (key) => [key],
  keysOfNode: (node) => internalIps(node).filter(isIPv6),
  keysOfInstance: ({ NetworkInterfaces: interfaces = [] }) =>
    interfaces.flatMap((eni) => (eni.Ipv6Addresses ?? []).flatMap(({ Ipv6Address: ip }) => ip ?? [])),
};

function meansOf(cluster: AwsCluster): readonly Means[] {
  const byName = [PRIVATE_DNS_NAME, FIRST_LABEL];
  return cluster.matchByNodeIP ? [...byName, PRIMARY_IPV4, IPV6] : byName;
}

/** Resolutions of those nodes for which this means brought anything. */
async function lookUp(
  nodes: readonly Node[],
  means: Means,
  session: Session,
  cluster: AwsCluster,
): Promise<Resolutions> {
  const candidates = new Map<string, Found[]>();
  const faults = new Map<string, Fault>();
  const keys = nodes.flatMap((node) => means.keysOfNode(node));
  const [first] = keys;
  if (first === undefined) return new Map();
  const otherFilters = belongingFilters(cluster);
  const size = Math.floor(roomBeside(otherFilters) / means.filterValues(first, cluster.region).length);
  await Promise.all(
    chunksOf(keys, size).map(async (chunk) => {
      const listing = await describeInstances(session, [keyFilter(chunk, means, cluster), ...otherFilters]);
      if (listing.kind === "fault") {
        for (const key of chunk) faults.set(key, listing.fault);
        return;
      }
      for (const found of listing.value.found) {
        for (const key of means.keysOfInstance(found.instance)) {
          candidates.set(key, [...(candidates.get(key) ?? []), found]);
        }
      }
      if (listing.value.unnamed === 0) return;
      for (const key of chunk) faults.set(key, UNNAMED);
    }),
  );
  const resolutions = nodes.flatMap((node): [Node, Resolution][] => {
    const nodeKeys = means.keysOfNode(node);
    const fault = nodeKeys.map((key) => faults.get(key)).find((each) => each !== undefined);
    if (fault !== undefined) return [[node, { kind: "answer", answer: answerOf(fault) }]];
    const all = new Map(
      nodeKeys.flatMap((key) => candidates.get(key) ?? []).map((found) => [found.id, found]),
    );
    const sought = `node ${node.metadata.name}, looked for by ${means.name} ${nodeKeys.join(", ")}`;
    const resolution = choose([...all.values()], cluster, sought);
    return resolution === undefined ? [] : [[node, resolution]];
  });
  return new Map(resolutions);
}

function keyFilter(keys: readonly string[], means: Means, { region }: AwsCluster): Filter {
  return { Name: means.filter, Values: keys.flatMap((key) => means.filterValues(key, region)) };
}

/** Terminated instances are left out: their names and addresses are free for others again. */
function belongingFilters({ vpc }: AwsCluster): Filter[] {
  return [
    ...(vpc === undefined ? [] : [{ Name: "vpc-id", Values: [vpc] }]),
    {
      Name: "instance-state-name",
      Values: ["pending", "running", "shutting-down", "stopping", "stopped"],
    },
  ];
}

const UNNAMED: Fault = {
  code: "Unavailable",
  message: "DescribeInstances: the answer holds instances without an id",
};

/** What a node's name may be; above all without the `*` and `?` that are wildcards in a filter. */
const DNS_NAME = /^[0-9A-Za-z]([-.0-9A-Za-z]*[0-9A-Za-z])?$/;

function firstLabel(name: string): string {
  return name.split(".")[0] ?? name;
}

function defaultDomain(region: string): string {
  return region === "us-east-1" ? "ec2.internal" : `${region}.compute.internal`;
}

function internalIps(node: Node): readonly string[] {
  const addresses = node.status.addresses ?? [];
  return addresses.filter(({ type }) => type === "InternalIP").map(({ address }) => address);
}
