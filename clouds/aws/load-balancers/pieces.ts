import type { ClusterIdentity, SubnetIdentity } from "#clouds/aws/load-balancers/ownership.ts";
import type { SubnetState, VpcState } from "#clouds/aws/load-balancers/state.ts";
import type { LoadBalancerAction, Problem } from "#core/service/model.ts";

/**
 * What several pure parts of a load balancer's plan hand to each other. A part says what is to be done next for it; the whole is
 * settled when all parts are.
 */
export type Piece<Value> =
  /** All is as it is to be. */
  | { readonly kind: "ready"; readonly value: Value }
  /** To be done first; `value` where it is known already. */
  | {
      readonly kind: "act";
      readonly actions: readonly [LoadBalancerAction, ...LoadBalancerAction[]];
      readonly value?: Value | undefined;
    }
  | { readonly kind: "refused"; readonly problem: Problem };

/** Who a load balancer is for: what names and tags are made of. */
export interface Owner {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  /** The value of `<tag>` in `kubernetes.io/cluster/<tag>`: `clusterTag`, or the cluster's name. */
  readonly clusterTag: string;
  /** Also tagged `KubernetesCluster`, for clusters that were. */
  readonly legacy: boolean;
  /** `additional-resource-tags`, parsed and checked. */
  readonly additionalTags: Readonly<Record<string, string>>;
}

/** Which subnets a load balancer is to be in (`vpc/choose-subnets.ts`). */
export interface SubnetsWanted extends SubnetIdentity {
  /** The annotation's value, where there is one: ids or names. */
  readonly named: string | undefined;
  readonly internal: boolean;
  /** Each must have an IPv6 network. */
  readonly dualStack: boolean;
}
/** In the order in which the annotation names them, else by zone. */
export type ChooseSubnets = (wanted: SubnetsWanted, vpc: VpcState) => Piece<readonly SubnetState[]>;

/** One thing that is let in: a protocol and ports from networks. */
export interface Opening {
  /** `tcp`, `udp`, `icmp`, or `-1` for all. */
  readonly protocol: string;
  /** Inclusive; of ICMP type and code. */
  readonly ports?: readonly [from: number, to: number] | undefined;
  /** IPv4 and IPv6 networks in canonical form. */
  readonly cidrs?: readonly string[] | undefined;
  /** Or everything from these security groups. */
  readonly groupIds?: readonly string[] | undefined;
  /** Of each rule; what tells our rules on a group that is not ours from all others. */
  readonly description?: string | undefined;
}

/** The security group of ours on a load balancer itself (`vpc/front-group.ts`). */
export interface FrontGroupWanted {
  readonly owner: Owner;
  /** `k8s-elb-<lb name>`, or the NLB's derived one. */
  readonly name: string;
  readonly description: string;
  /** Exactly these rules: others on it are taken away. */
  readonly openings: readonly Opening[];
}
/** Answers with the group's id. */
export type PlanFrontGroup = (wanted: FrontGroupWanted, vpc: VpcState) => Piece<string>;

/** What is let in on the nodes' own security groups (`vpc/node-rules.ts`): groups that are not ours, of which only rules that match `mine` are ever taken away. */
export interface NodeRulesWanted extends ClusterIdentity {
  /** `disableSecurityGroupIngress`: nothing is added and nothing taken away. */
  readonly disabled: boolean;
  /** Of the targets. */
  readonly instanceIds: readonly string[];
  readonly openings: readonly Opening[];
  /**
   * Rules of this load balancer by their description, or by the group that they let everything in from. Rules for health checks are among
   * them at `ownPorts` and at its clients' ports alone: at other ports several load balancers may be checked. What several share is
   * taken away by the audit (`orphans/unused-rules.ts`).
   */
  readonly mine: {
    readonly descriptions: readonly string[];
    readonly groupIds: readonly string[];
    readonly ownPorts?: readonly number[] | undefined;
  };
}
/** Answers with warnings, of instances whose group cannot be told or is not proven to be the cluster's: those are left out. */
export type PlanNodeRules = (wanted: NodeRulesWanted, vpc: VpcState) => Piece<readonly Problem[]>;

/**
 * Takes groups away that are ours by tag and in no use any more (`vpc/remove-groups.ts`); one in use still is tried again later, and one
 * that a group names in which no rule may be changed stays.
 */
export type PlanRemovedGroups = (
  wanted: {
    readonly owner: Owner;
    readonly identity: ClusterIdentity;
    readonly groupIds: readonly string[];
  },
  vpc: VpcState,
) => Piece<undefined>;

/** The VPC's state after an action of EC2 (`vpc/fold.ts`); the same for any other action. */
export type FoldVpc = (vpc: VpcState, action: LoadBalancerAction, result: unknown) => VpcState;
