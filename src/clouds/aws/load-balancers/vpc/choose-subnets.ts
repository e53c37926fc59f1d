import {
  describeNotAllowed,
  isEligibleSubnet,
  isNameableSubnet,
  isOfCluster,
  type NamedResource,
} from "#clouds/aws/load-balancers/ownership.ts";
import type { SubnetState, VpcState } from "#clouds/aws/load-balancers/state.ts";
import type { ChooseSubnets, DesiredSubnets, SubnetChoice } from "#clouds/aws/load-balancers/types.ts";

/** The annotation that names subnets. */
const FIELD = "service.beta.kubernetes.io/aws-load-balancer-subnets";

/** Chooses the subnets that an annotation names, or those found by tags: one per zone. */
export const chooseSubnets: ChooseSubnets = (desired, vpc) => {
  const chosen =
    desired.named === undefined ? findSubnets(desired, vpc) : chooseNamed(desired.named, desired, vpc);
  if (chosen.kind !== "ready" || !desired.dualStack) return chosen;
  const withoutIpv6 = chosen.value.filter(({ subnet }) => !hasIpv6(subnet));
  if (withoutIpv6.length === 0) return chosen;
  const detail = `no IPv6 network: ${formatSubnetIds(withoutIpv6)}`;
  return reject("IPFamilies", desired, "IPv4, unless each subnet has an IPv6 network", detail);
};

function chooseNamed(text: string, desired: DesiredSubnets, vpc: VpcState): SubnetChoice {
  const names = text
    .split(",")
    .map((each) => each.trim())
    .filter((each) => each !== "");
  if (names.length === 0)
    return reject("InvalidAnnotation", desired, "ids or names of subnets, with commas between");
  const candidates = names.map((name) =>
    vpc.subnets.filter(({ subnet, tags }) =>
      name.startsWith("subnet-") ? subnet.SubnetId === name : tags["Name"] === name,
    ),
  );
  const unknown = names.filter((_, index) => candidates[index]?.length !== 1);
  if (unknown.length > 0) {
    const detail = `not found in ${vpc.id}, or ambiguous: ${unknown.join(", ")}`;
    return reject(
      "SubnetNotFound",
      desired,
      "subnets of the cluster's VPC, by id or by a unique name",
      detail,
    );
  }
  const subnets = candidates.flat();
  const foreign = subnets.filter((each) => !isNameableSubnet(toNamedResource(each), desired));
  if (foreign.length > 0) {
    const detail = `${describeNotAllowed(desired.clusterTag, "subnets")}: ${formatSubnetIds(foreign)}`;
    return reject("SubnetNotFound", desired, "subnets of this cluster", detail);
  }
  if (new Set(subnets.map(({ subnet }) => subnet.AvailabilityZone)).size < subnets.length)
    return reject("SubnetsOfOneZone", desired, "one subnet for each availability zone");
  return { kind: "ready", value: subnets };
}

function findSubnets(desired: DesiredSubnets, vpc: VpcState): SubnetChoice {
  const { clusterTag, internal, fallbackId } = desired;
  const eligibleSubnets = vpc.subnets.filter((each) => isEligibleSubnet(toNamedResource(each), desired));
  const candidates =
    eligibleSubnets.length > 0
      ? eligibleSubnets
      : vpc.subnets.filter(({ subnet }) => subnet.SubnetId === fallbackId);
  const usable = candidates.filter(
    ({ isPublic, zoneType }) =>
      (internal || isPublic === true) && (zoneType === undefined || zoneType === "availability-zone"),
  );
  const role = `kubernetes.io/role/${internal ? "internal-elb" : "elb"}`;
  const byZone = Map.groupBy(usable, ({ subnet }) => subnet.AvailabilityZone ?? "");
  const chosen = [...byZone.values()].flatMap((subnetsOfZone) =>
    subnetsOfZone.toSorted(buildComparator(role, clusterTag)).slice(0, 1),
  );
  if (chosen.length === 0) {
    const detail = `${vpc.subnets.length} subnets in ${vpc.id}, ${candidates.length} of this cluster, ${usable.length} that fit`;
    const kind = internal ? "a subnet" : "a subnet with a route to an internet gateway";
    return {
      kind: "refused",
      issue: {
        code: "NoEligibleSubnet",
        allowed: `${kind}, tagged kubernetes.io/cluster/${clusterTag}${desired.isVpcConfigured ? " or for no cluster" : ""}, or listed in cloud.allow.subnets`,
        detail,
      },
    };
  }
  return { kind: "ready", value: chosen.toSorted((a, b) => compare(getSubnetZone(a), getSubnetZone(b))) };
}

/** Sorts by the role's tag, then the cluster's tag, then the lowest id. */
function buildComparator(role: string, clusterTag: string): (a: SubnetState, b: SubnetState) => number {
  const rank = ({ tags }: SubnetState): number =>
    (tags[role] === undefined ? 2 : 0) + (isOfCluster(tags, clusterTag) ? 0 : 1);
  return (a, b) => rank(a) - rank(b) || compare(a.subnet.SubnetId ?? "", b.subnet.SubnetId ?? "");
}

function reject(
  code: string,
  { named }: DesiredSubnets,
  allowed: string,
  detail?: string,
): Extract<SubnetChoice, { readonly kind: "refused" }> {
  const field = named === undefined ? {} : { field: FIELD, value: named };
  return {
    kind: "refused",
    issue: { code, ...field, allowed, ...(detail === undefined ? {} : { detail }) },
  };
}

function hasIpv6({ Ipv6CidrBlockAssociationSet: networks = [] }: SubnetState["subnet"]): boolean {
  return networks.some(
    ({ Ipv6CidrBlockState: state }) => state === undefined || state.State === "associated",
  );
}

function toNamedResource({ subnet, tags }: SubnetState): NamedResource {
  return { id: subnet.SubnetId ?? "", tags };
}

function getSubnetZone({ subnet }: SubnetState): string {
  return subnet.AvailabilityZone ?? "";
}

function formatSubnetIds(subnets: readonly SubnetState[]): string {
  return subnets.map(({ subnet }) => subnet.SubnetId).join(", ");
}

function compare(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
