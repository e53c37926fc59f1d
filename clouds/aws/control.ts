import type { NetworkInterface } from "@aws-sdk/client-ec2";
import type { AwsCluster } from "#clouds/aws/belonging.ts";
import { describePage, type Found } from "#clouds/aws/describe-instances.ts";
import { isLive, liveFilters } from "#clouds/aws/live.ts";
import { isOurs, isUnseen, type Resolutions } from "#clouds/aws/resolution.ts";
import type { Session } from "#clouds/aws/session.ts";
import type { PositiveControl } from "#core/instance.ts";
import type { Node } from "#core/node/node.ts";
import { findDifference, readPlace } from "#core/node-lifecycle/place.ts";

/**
 * Finds for each node that was missed an instance or a network interface of the cluster that was there to be seen, in the place that
 * the node was seen in where there is one. Of the batch itself where that has one; else one page is asked for, which may well be empty.
 * A node has none where nothing was found, and where it cannot be told.
 */
export async function findControls(
  resolutions: Resolutions,
  session: Session,
  cluster: AwsCluster,
): Promise<ReadonlyMap<Node, PositiveControl>> {
  // What is somebody else's is treated as what is not there: how long it takes must not tell the two apart.
  const missed = [...resolutions].flatMap(([node, resolution]) => (isUnseen(resolution) ? [node] : []));
  const found = [...resolutions.values()].flatMap((resolution): PositiveControl[] => {
    if (resolution.kind === "instance")
      return isLive(resolution.found) ? [controlOfInstance(resolution.found, cluster)] : [];
    return resolution.kind === "interface" ? controlsOfInterface(resolution.eni, cluster) : [];
  });
  if (missed.some((node) => !isProved(node, found))) found.push(...(await listControls(session, cluster)));
  if (cluster.vpc === undefined)
    for (const vpc of listOtherVpcs(missed, found))
      found.push(...(await listControls(session, { ...cluster, vpc })));
  return new Map(
    missed.flatMap((node) => {
      // One in another place proves nothing; it is told, so that the operator sees where was looked.
      const control = found.find((each) => isInPlace(node, each)) ?? found[0];
      return control === undefined ? [] : [[node, control]];
    }),
  );
}

/** Instances of the cluster in a page of what is live; none where the request fails. */
async function listControls(session: Session, cluster: AwsCluster): Promise<readonly PositiveControl[]> {
  const page = await describePage(session, liveFilters(cluster), PAGE_SIZE);
  if (page.kind === "fault") return [];
  return page.value.found
    .filter((found) => isLive(found) && isOurs(found, cluster))
    .map((found) => controlOfInstance(found, cluster));
}

/** A VPC may be shared with other clusters, whose instances prove nothing. */
const PAGE_SIZE = 20;

/**
 * The VPCs that nodes without a control were seen in, where the account is the same: a cluster that is known by its tag may be in
 * several, and a page of all its instances need not show one of each. A tenant may name any VPC: few of them are asked for.
 */
function listOtherVpcs(missed: readonly Node[], controls: readonly PositiveControl[]): readonly string[] {
  const vpcs = missed.flatMap((node) => {
    if (isProved(node, controls)) return [];
    const differences = controls.map((control) => findDifference(readPlace(node), control));
    const vpc = differences.find((difference) => difference?.part === "network")?.node ?? "";
    return /^vpc-[0-9a-z]{1,32}$/.test(vpc) ? [vpc] : [];
  });
  return [...new Set(vpcs)].slice(0, MAX_VPCS);
}

const MAX_VPCS = 3;

function isProved(node: Node, controls: readonly PositiveControl[]): boolean {
  return controls.some((control) => isInPlace(node, control));
}

function isInPlace(node: Node, control: PositiveControl): boolean {
  return findDifference(readPlace(node), control) === undefined;
}

function controlOfInstance({ id, account, instance }: Found, { region }: AwsCluster): PositiveControl {
  return { id, account, network: instance.VpcId ?? "", region };
}

function controlsOfInterface(eni: NetworkInterface, { region }: AwsCluster): PositiveControl[] {
  const { NetworkInterfaceId: id, OwnerId: account = "", VpcId: network = "" } = eni;
  return id ? [{ id, account, network, region }] : [];
}
