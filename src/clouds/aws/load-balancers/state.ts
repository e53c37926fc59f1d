import type { Instance, IpPermission, SecurityGroup, Subnet } from "@aws-sdk/client-ec2";
import type {
  LoadBalancerAttributes,
  LoadBalancerDescription,
  PolicyDescription,
} from "@aws-sdk/client-elastic-load-balancing";
import type {
  Listener,
  LoadBalancer,
  TargetDescription,
  TargetGroup,
} from "@aws-sdk/client-elastic-load-balancing-v2";

/** Tags or attributes, by key. */
export type Pairs = Readonly<Record<string, string>>;

/**
 * The load balancer resources of one Service: the `state` of an observation. It is JSON, in the shapes of
 * AWS's own API.
 */
export interface AwsLoadBalancerState {
  /** The network load balancer of the Service's derived name, whatever its owner: `tags` tell. */
  readonly network?: NetworkLoadBalancerState | undefined;
  /** Target groups that are attached to it, or have the Service's and the cluster's tags. */
  readonly targetGroups: readonly TargetGroupState[];
  /** The classic load balancer of that name. */
  readonly classic?: ClassicLoadBalancerState | undefined;
  readonly vpc: VpcState;
  /** The existing Elastic IP addresses of those that the Service's annotation names, by allocation id. */
  readonly addresses?: Readonly<Record<string, AddressState>> | undefined;
}

/** An Elastic IP address. */
export interface AddressState {
  readonly tags: Pairs;
  readonly isInUse: boolean;
}

/** A load balancer of ELBv2. */
export interface NetworkLoadBalancerState {
  readonly loadBalancer: Omit<LoadBalancer, "CreatedTime">;
  readonly tags: Pairs;
  /** Absent if only targets were read, or no load balancer is desired. */
  readonly attributes?: Pairs | undefined;
  /** Empty if attributes are absent. */
  readonly listeners: readonly { readonly listener: Listener; readonly tags: Pairs }[];
}

/**
 * A target group and its registered targets, without draining ones; without any if no load balancer is
 * desired.
 */
export interface TargetGroupState {
  readonly group: TargetGroup;
  readonly tags: Pairs;
  /** Absent if only targets were read, or no load balancer is desired. */
  readonly attributes?: Pairs | undefined;
  readonly targets: readonly TargetDescription[];
}

/** A load balancer of ELB. */
export interface ClassicLoadBalancerState {
  readonly loadBalancer: Omit<LoadBalancerDescription, "CreatedTime">;
  readonly tags: Pairs;
  /** Absent if only targets were read, or no load balancer is desired. */
  readonly attributes?: LoadBalancerAttributes | undefined;
  /** Empty if no load balancer is desired. */
  readonly policies: readonly PolicyDescription[];
}

/** The part of EC2 that load balancers depend on; what all Services of a batch share is included once. */
export interface VpcState {
  /** The VPC: the configured one, or that of the instances. */
  readonly id: string;
  readonly subnets: readonly SubnetState[];
  /**
   * The relevant security groups of the VPC: those on the Service's load balancers, those named or tagged as
   * the Service's own, those in annotations and the configuration, and those on targets.
   */
  readonly groups: readonly SecurityGroupState[];
  /** The cluster's instances of the given nodes, by id; an instance that is missing here becomes no target. */
  readonly instances: Readonly<Record<string, TargetInstance>>;
  /**
   * Instances of the given nodes that AWS shows with another owner, or terminated and without any owner: they do
   * not stay targets. AWS did not show the instances that are in neither list, or showed no owner of them.
   */
  readonly excludedInstanceIds?: readonly string[] | undefined;
}

/** A subnet of the VPC. */
export interface SubnetState {
  readonly subnet: Pick<
    Subnet,
    "SubnetId" | "AvailabilityZone" | "AvailabilityZoneId" | "CidrBlock" | "Ipv6CidrBlockAssociationSet"
  >;
  readonly tags: Pairs;
  /** Whether its route table leads to an internet gateway; undefined without a visible route table. */
  readonly isPublic: boolean | undefined;
  /** `availability-zone`, `local-zone`, `wavelength-zone`; undefined if unknown. */
  readonly zoneType: string | undefined;
}

/** A security group with its rules. */
export interface SecurityGroupState {
  /**
   * Every network interface with this group belongs to an instance with the cluster's tag; absent if unknown.
   */
  readonly isOnNodesAlone?: true | undefined;
  readonly group: Pick<SecurityGroup, "GroupId" | "GroupName" | "VpcId">;
  readonly tags: Pairs;
  readonly ingress: readonly IpPermission[];
}

/** Facts about an instance that decide whether it can be a target. */
export interface TargetInstance {
  readonly state: string;
  readonly subnetId?: string | undefined;
  readonly zone?: string | undefined;
  readonly groupIds: readonly string[];
  readonly primaryIpv6?: NonNullable<Instance["Ipv6Address"]> | undefined;
}
