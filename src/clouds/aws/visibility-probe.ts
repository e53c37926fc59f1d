import type { NetworkInterface } from "@aws-sdk/client-ec2";
import {
  buildClusterFilters,
  describePage,
  type FoundInstance,
  isLive,
} from "#clouds/aws/describe-instances.ts";
import type { AwsCluster } from "#clouds/aws/ownership.ts";
import { isClusterInstance, isMissingOrForeign, type Resolutions } from "#clouds/aws/resolution.ts";
import type { Session } from "#clouds/aws/session.ts";
import type { VisibilityProbe } from "#core/instance.ts";
import type { Node } from "#core/node/node.ts";
import { findDifference, readLocation } from "#core/node-lifecycle/location.ts";

/**
 * Finds a visibility probe for each missing node: a visible instance or network interface of the cluster, if
 * possible where the node was seen. It uses the batch first, and otherwise reads one page, which may be
 * empty. A node has none if nothing was found or the request failed.
 */
export async function findVisibilityProbes(
  resolutions: Resolutions,
  session: Session,
  cluster: AwsCluster,
): Promise<ReadonlyMap<Node, VisibilityProbe>> {
  // A foreign instance is treated like a missing one, so that the duration does not tell them apart.
  const missingNodes = [...resolutions].flatMap(([node, resolution]) =>
    isMissingOrForeign(resolution) ? [node] : [],
  );
  const probes = [...resolutions.values()].flatMap((resolution): VisibilityProbe[] => {
    if (resolution.kind === "instance")
      return isLive(resolution.found) ? [buildInstanceProbe(resolution.found, cluster)] : [];
    return resolution.kind === "interface" ? buildInterfaceProbes(resolution.eni, cluster) : [];
  });
  if (missingNodes.some((node) => !isProved(node, probes)))
    probes.push(...(await listVisibilityProbes(session, cluster)));
  if (cluster.vpc === undefined)
    for (const vpc of listOtherVpcs(missingNodes, probes))
      probes.push(...(await listVisibilityProbes(session, { ...cluster, vpc })));
  return new Map(
    missingNodes.flatMap((node) => {
      // An instance in another place proves nothing; it is reported so that the operator sees the searched
      // place.
      const control = probes.find((each) => isInPlace(node, each)) ?? probes[0];
      return control === undefined ? [] : [[node, control]];
    }),
  );
}

/** Lists the cluster's instances in one page of live ones; empty if the request fails. */
async function listVisibilityProbes(
  session: Session,
  cluster: AwsCluster,
): Promise<readonly VisibilityProbe[]> {
  const page = await describePage(session, buildClusterFilters(cluster), PAGE_SIZE);
  if (page.kind === "fault") return [];
  return page.value.found
    .filter((found) => isLive(found) && isClusterInstance(found, cluster))
    .map((found) => buildInstanceProbe(found, cluster));
}

/** A VPC may be shared with other clusters, whose instances prove nothing. */
const PAGE_SIZE = 20;

/**
 * Lists the VPCs in which nodes without a probe were seen, in the same account. A cluster that is known by
 * its tag may span several VPCs, and a page of its instances may miss some. A tenant may name any VPC, so
 * only a few are read.
 */
function listOtherVpcs(missed: readonly Node[], controls: readonly VisibilityProbe[]): readonly string[] {
  const vpcs = missed.flatMap((node) => {
    if (isProved(node, controls)) return [];
    const differences = controls.map((control) => findDifference(readLocation(node), control));
    const vpc = differences.find((difference) => difference?.part === "network")?.node ?? "";
    return /^vpc-[0-9a-z]{1,32}$/.test(vpc) ? [vpc] : [];
  });
  return [...new Set(vpcs)].slice(0, MAX_VPCS);
}

const MAX_VPCS = 3;

function isProved(node: Node, controls: readonly VisibilityProbe[]): boolean {
  return controls.some((control) => isInPlace(node, control));
}

function isInPlace(node: Node, control: VisibilityProbe): boolean {
  return findDifference(readLocation(node), control) === undefined;
}

function buildInstanceProbe(
  { id, account, instance }: FoundInstance,
  { region }: AwsCluster,
): VisibilityProbe {
  return { id, account, network: instance.VpcId ?? "", region };
}

function buildInterfaceProbes(eni: NetworkInterface, { region }: AwsCluster): VisibilityProbe[] {
  const { NetworkInterfaceId: id, OwnerId: account = "", VpcId: network = "" } = eni;
  return id ? [{ id, account, network, region }] : [];
}
