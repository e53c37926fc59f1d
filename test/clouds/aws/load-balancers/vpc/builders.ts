import type { IpPermission } from "@aws-sdk/client-ec2";
import type { AllowedResources } from "#clouds/aws/load-balancers/ownership.ts";
import type {
  Pairs,
  SecurityGroupState,
  SubnetState,
  TargetInstance,
  VpcState,
} from "#clouds/aws/load-balancers/state.ts";
import type { DesiredSubnets, Owner } from "#clouds/aws/load-balancers/types.ts";

export const VPC = "vpc-1";
export const OURS: Pairs = { "kubernetes.io/cluster/demo": "owned" };
export const THEIRS: Pairs = { "kubernetes.io/cluster/theirs": "owned" };

export const OWNER: Owner = {
  namespace: "default",
  name: "web",
  uid: "u-1",
  clusterTag: "demo",
  legacy: false,
  additionalTags: {},
};

export const ALLOW_NOTHING: AllowedResources = {
  securityGroups: [],
  subnets: [],
  elasticIPs: [],
  certificates: [],
  buckets: [],
  nodeSecurityGroups: [],
};

export function buildVpc(parts: Partial<VpcState> = {}): VpcState {
  return { id: VPC, subnets: [], groups: [], instances: {}, ...parts };
}

/** Builds a public subnet of no cluster. */
export function buildSubnet(
  id: string,
  zone: string,
  traits: Partial<SubnetState> & { ipv6?: boolean } = {},
): SubnetState {
  const { ipv6 = false, ...rest } = traits;
  return {
    subnet: {
      SubnetId: id,
      AvailabilityZone: zone,
      ...(ipv6
        ? { Ipv6CidrBlockAssociationSet: [{ Ipv6CidrBlockState: { State: "associated" as const } }] }
        : {}),
    },
    tags: {},
    isPublic: true,
    zoneType: "availability-zone",
    ...rest,
  };
}

/** Builds the desired subnets of an internet-facing load balancer without annotation. */
export function buildDesiredSubnets(traits: Partial<DesiredSubnets> = {}): DesiredSubnets {
  return {
    named: undefined,
    internal: false,
    clusterTag: "demo",
    dualStack: false,
    fallbackId: undefined,
    allow: ALLOW_NOTHING,
    isVpcConfigured: true,
    attachedIds: [],
    ...traits,
  };
}

export function buildGroup(
  id: string,
  traits: { name?: string; tags?: Pairs; ingress?: readonly IpPermission[] } = {},
): SecurityGroupState {
  const { name = id, tags = {}, ingress = [] } = traits;
  return { group: { GroupId: id, GroupName: name, VpcId: VPC }, tags, ingress };
}

/** Builds a running instance with these groups. */
export function buildTarget(...groupIds: readonly string[]): TargetInstance {
  return { state: "running", subnetId: "subnet-a", zone: "a", groupIds };
}

/** Builds a rule as EC2 describes it. */
export function buildRule(
  protocol: string,
  ports: readonly [number, number],
  peer: string,
  description?: string,
): IpPermission {
  const told = description === undefined ? {} : { Description: description };
  const from = peer.startsWith("sg-")
    ? { UserIdGroupPairs: [{ GroupId: peer, ...told }] }
    : peer.includes(":")
      ? { Ipv6Ranges: [{ CidrIpv6: peer, ...told }] }
      : { IpRanges: [{ CidrIp: peer, ...told }] };
  return {
    IpProtocol: protocol,
    ...(protocol === "-1" ? {} : { FromPort: ports[0], ToPort: ports[1] }),
    ...from,
  };
}
