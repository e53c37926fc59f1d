import type { ClusterIdentity, SubnetIdentity } from "#clouds/aws/load-balancers/ownership.ts";
import type { SubnetState, VpcState } from "#clouds/aws/load-balancers/state.ts";
import type { Issue, LoadBalancerAction } from "#core/service/model.ts";

/**
 * The result of one pure part of a load balancer's plan: its next actions, or its value. The whole is settled
 * when all parts are.
 */
export type PlanResult<Value> =
  /** Everything has its desired state. */
  | { readonly kind: "ready"; readonly value: Value }
  /** Actions to do first; `value` if it is already known. */
  | {
      readonly kind: "act";
      readonly actions: readonly [LoadBalancerAction, ...LoadBalancerAction[]];
      readonly value?: Value | undefined;
    }
  | { readonly kind: "refused"; readonly issue: Issue };

/** The owner of a load balancer, from which names and tags are built. */
export interface Owner {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  /** `<tag>` of `kubernetes.io/cluster/<tag>`: `clusterTag`, or the cluster's name. */
  readonly clusterTag: string;
  /** Also tagged `KubernetesCluster`, for clusters that used it before. */
  readonly legacy: boolean;
  /** `additional-resource-tags`, parsed and checked. */
  readonly additionalTags: Readonly<Record<string, string>>;
}

/** The desired subnets of a load balancer (`vpc/choose-subnets.ts`). */
export interface DesiredSubnets extends SubnetIdentity {
  /** The annotation's value, if set: ids or names. */
  readonly named: string | undefined;
  readonly internal: boolean;
  /** Whether each must have an IPv6 network. */
  readonly dualStack: boolean;
}
/** A choice of subnets, which never needs actions. */
export type SubnetChoice = Exclude<PlanResult<readonly SubnetState[]>, { readonly kind: "act" }>;
/** Returns subnets in the order of the annotation, else by zone. */
export type ChooseSubnets = (desired: DesiredSubnets, vpc: VpcState) => SubnetChoice;

/** Allowed traffic: a protocol and ports from networks. */
export interface Opening {
  /** `tcp`, `udp`, `icmp`, or `-1` for all. */
  readonly protocol: string;
  /** Inclusive; for ICMP type and code. */
  readonly ports?: readonly [from: number, to: number] | undefined;
  /** IPv4 and IPv6 networks in canonical form. */
  readonly cidrs?: readonly string[] | undefined;
  /** Or all traffic from these security groups. */
  readonly groupIds?: readonly string[] | undefined;
  /** Description of each rule; it tells our rules on foreign groups from all others. */
  readonly description?: string | undefined;
}

/** Our security group on a load balancer itself (`vpc/frontend-group.ts`). */
export interface DesiredFrontendGroup {
  readonly owner: Owner;
  /** `k8s-elb-<lb name>`, or the NLB's derived one. */
  readonly name: string;
  readonly description: string;
  /** Exactly these rules: others on it are removed. */
  readonly openings: readonly Opening[];
}
/** Returns the group's id. */
export type PlanFrontendGroup = (desired: DesiredFrontendGroup, vpc: VpcState) => PlanResult<string>;

/**
 * The desired rules on the nodes' own security groups (`vpc/node-rules.ts`). The groups are not ours; only
 * rules that match `ownRules` are ever removed.
 */
export interface DesiredNodeRules extends ClusterIdentity {
  /** `disableSecurityGroupIngress`: nothing is added or removed. */
  readonly disabled: boolean;
  /** Instances of the targets. */
  readonly instanceIds: readonly string[];
  /**
   * Whether AWS does not show some registered targets. Every group with rules of this load balancer then counts as
   * theirs, and keeps the rules.
   */
  readonly hasHiddenTargets?: boolean | undefined;
  readonly openings: readonly Opening[];
  /**
   * Rules of this load balancer, by their description or by the group that they allow. Rules for health
   * checks are included only at `ownPorts` and at its clients' ports: at other ports several load balancers
   * may be checked. The audit (`orphans/unused-rules.ts`) removes shared ones.
   */
  readonly ownRules: {
    readonly descriptions: readonly string[];
    readonly groupIds: readonly string[];
    readonly ownPorts?: readonly number[] | undefined;
  };
}
/**
 * Returns warnings about instances whose group is ambiguous, or not proven to be the cluster's; these are
 * skipped.
 */
export type PlanNodeRules = (desired: DesiredNodeRules, vpc: VpcState) => PlanResult<readonly Issue[]>;

/**
 * Removes groups that are ours by tag and unused (`vpc/frontend-group.ts`). One still in use is retried later;
 * one that an unchangeable group names stays.
 */
export type PlanGroupRemoval = (
  removal: {
    readonly owner: Owner;
    readonly identity: ClusterIdentity;
    readonly groupIds: readonly string[];
  },
  vpc: VpcState,
) => PlanResult<undefined>;

/**
 * Returns the VPC's state after an action of EC2 (`vpc/apply-result.ts`); other actions leave it unchanged.
 */
export type ApplyVpcResult = (vpc: VpcState, action: LoadBalancerAction, result: unknown) => VpcState;
