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

/** What is known of the load balancers of one Service: the `state` of an observation. All of it is JSON, in the shapes of AWS's own API. */
export interface AwsLoadBalancerState {
  /** The network load balancer of the Service's derived name, whosever it is: `tags` tell. */
  readonly network?: NetworkLoadBalancerState | undefined;
  /** Target groups that are attached to it, or carry the Service's and the cluster's tags. */
  readonly targetGroups: readonly TargetGroupState[];
  /** The classic load balancer of that name. */
  readonly classic?: ClassicLoadBalancerState | undefined;
  readonly vpc: VpcState;
  /** Those of the Elastic IP addresses that the Service's annotation names which are there, by allocation id. */
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
  /** Absent where only targets were asked about, or nothing is wanted. */
  readonly attributes?: Pairs | undefined;
  /** None where attributes are absent. */
  readonly listeners: readonly { readonly listener: Listener; readonly tags: Pairs }[];
}

/** A target group, and what is registered with it: targets that are draining are left out, and all where nothing is wanted. */
export interface TargetGroupState {
  readonly group: TargetGroup;
  readonly tags: Pairs;
  /** Absent where only targets were asked about, or nothing is wanted. */
  readonly attributes?: Pairs | undefined;
  readonly targets: readonly TargetDescription[];
}

/** A load balancer of ELB. */
export interface ClassicLoadBalancerState {
  readonly loadBalancer: Omit<LoadBalancerDescription, "CreatedTime">;
  readonly tags: Pairs;
  /** Absent where only targets were asked about, or nothing is wanted. */
  readonly attributes?: LoadBalancerAttributes | undefined;
  /** None where nothing is wanted. */
  readonly policies: readonly PolicyDescription[];
}

/** The part of EC2 that load balancers depend on; what all Services of a batch share is described once. */
export interface VpcState {
  /** The VPC itself: the configured one, or that of the instances. */
  readonly id: string;
  readonly subnets: readonly SubnetState[];
  /**
   * Security groups of the VPC that matter here: those on the Service's load balancers, those that are named or tagged as the
   * Service's own, those that annotations and the configuration name, and those on instances of targets.
   */
  readonly groups: readonly SecurityGroupState[];
  /** Instances of the asked nodes that are the cluster's, by id; one that is not here is no target. */
  readonly instances: Readonly<Record<string, TargetInstance>>;
}

/** A subnet of the VPC. */
export interface SubnetState {
  readonly subnet: Pick<
    Subnet,
    "SubnetId" | "AvailabilityZone" | "AvailabilityZoneId" | "CidrBlock" | "Ipv6CidrBlockAssociationSet"
  >;
  readonly tags: Pairs;
  /** Its route table leads to an internet gateway; undefined where it has none that can be seen. */
  readonly isPublic: boolean | undefined;
  /** `availability-zone`, `local-zone`, `wavelength-zone`; undefined where it is not known. */
  readonly zoneType: string | undefined;
}

/** A security group with its rules. */
export interface SecurityGroupState {
  /** Every network interface that has it belongs to an instance with the cluster's tag; absent where that is not known. */
  readonly isOnNodesAlone?: true | undefined;
  readonly group: Pick<SecurityGroup, "GroupId" | "GroupName" | "VpcId">;
  readonly tags: Pairs;
  readonly ingress: readonly IpPermission[];
}

/** What of an instance its being a target depends on. */
export interface TargetInstance {
  readonly state: string;
  readonly subnetId?: string | undefined;
  readonly zone?: string | undefined;
  readonly groupIds: readonly string[];
  readonly primaryIpv6?: NonNullable<Instance["Ipv6Address"]> | undefined;
}
