import type { Filter, NetworkInterface } from "@aws-sdk/client-ec2";
import { countFreeFilterValues } from "#clouds/aws/describe-instances.ts";
import { type Outcome, toErrorAnswer } from "#clouds/aws/errors.ts";
import { type AwsCluster, checkResourceOwnership } from "#clouds/aws/ownership.ts";
import {
  buildErrorResolution,
  buildNotFound,
  type Resolution,
  type Resolutions,
} from "#clouds/aws/resolution.ts";
import type { Session } from "#clouds/aws/session.ts";
import { fault, ok } from "#clouds/outcome.ts";
import { splitIntoChunks } from "#core/chunks.ts";
import type { Node } from "#core/node/node.ts";

/**
 * Finds Fargate nodes: network interfaces in the cluster's VPC, by private IPv4 address, with as many per
 * request as EC2 takes.
 */
export async function resolveFargate(
  addresses: ReadonlyMap<Node, string>,
  session: Session,
  cluster: AwsCluster,
): Promise<Resolutions> {
  const listings = new Map<string, Outcome<readonly NetworkInterface[]>>();
  const { vpc } = cluster;
  const otherFilters = vpc === undefined ? [] : [{ Name: "vpc-id", Values: [vpc] }];
  await Promise.all(
    splitIntoChunks(addresses.values(), countFreeFilterValues(otherFilters)).map(async (chunk) => {
      const filters = [{ Name: "private-ip-address", Values: chunk }, ...otherFilters];
      const listing = await describeInterfaces(session, filters);
      for (const address of chunk) listings.set(address, listing);
    }),
  );
  return new Map(
    [...addresses].map(([node, address]) => [
      node,
      buildResolution(node, address, listings.get(address), cluster),
    ]),
  );
}

async function describeInterfaces(
  session: Session,
  filters: Filter[],
): Promise<Outcome<readonly NetworkInterface[]>> {
  const found: NetworkInterface[] = [];
  let token: string | undefined;
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const request = { Filters: filters, MaxResults: 1000, ...(token ? { NextToken: token } : {}) };
    const answer = await session.send("DescribeNetworkInterfaces", (ec2, signal) =>
      ec2.describeNetworkInterfaces(request, signal),
    );
    if (answer.kind === "fault") return answer;
    const { NetworkInterfaces: interfaces, NextToken: next } = answer.value;
    if (interfaces === undefined) {
      return fault("Unavailable", "DescribeNetworkInterfaces: the answer is not a list of interfaces");
    }
    found.push(...interfaces);
    if (!next) return ok(found);
    token = next;
  }
  return fault("Unavailable", `DescribeNetworkInterfaces: more than ${MAX_PAGES} pages`);
}

const MAX_PAGES = 10;

function buildResolution(
  node: Node,
  address: string,
  listing: Outcome<readonly NetworkInterface[]> | undefined,
  cluster: AwsCluster,
): Resolution {
  const search = `node ${node.metadata.name}, looked for by the network interface with address ${address}`;
  if (listing === undefined) return buildErrorResolution("Unavailable", `${search}: not asked`);
  if (listing.kind === "fault") return { kind: "answer", answer: toErrorAnswer(listing.fault) };
  const attached = listing.value.filter(
    (eni) => eni.Attachment?.Status === "attached" && hasAddress(eni, address),
  );
  const ownedInterfaces = attached.filter((eni) => checkInterfaceOwnership(eni, cluster) === undefined);
  const [eni, second] = ownedInterfaces;
  if (second !== undefined) {
    const ids = ownedInterfaces.map((each) => each.NetworkInterfaceId ?? "one without an id");
    return buildErrorResolution("Ambiguous", `${search}: ${ids.slice(0, 5).join(", ")}`);
  }
  if (eni !== undefined) return { kind: "interface", eni };
  const [foreign] = attached;
  if (foreign === undefined) return buildNotFound(`${search}: EC2 has none that is attached`);
  const reason = checkInterfaceOwnership(foreign, cluster);
  return buildErrorResolution(
    "Foreign",
    `${search}: ${foreign.NetworkInterfaceId} is not the cluster's: ${reason}`,
  );
}

function hasAddress(eni: NetworkInterface, address: string): boolean {
  return (
    eni.PrivateIpAddress === address ||
    (eni.PrivateIpAddresses ?? []).some((each) => each.PrivateIpAddress === address)
  );
}

/** Checks the ownership of an interface. EKS does not put the cluster's tag on Fargate's interfaces. */
function checkInterfaceOwnership(eni: NetworkInterface, cluster: AwsCluster): string | undefined {
  return checkResourceOwnership(cluster, { vpc: eni.VpcId, tags: eni.TagSet, isSeldomTagged: true });
}
