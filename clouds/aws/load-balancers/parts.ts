import type {
  ChooseSubnets,
  FoldVpc,
  PlanFrontGroup,
  PlanNodeRules,
  PlanRemovedGroups,
} from "#clouds/aws/load-balancers/pieces.ts";

/** What plans of load balancers are made of that is about the VPC: subnets and security groups. */
export interface VpcParts {
  readonly chooseSubnets: ChooseSubnets;
  readonly planFrontGroup: PlanFrontGroup;
  readonly planNodeRules: PlanNodeRules;
  readonly planRemovedGroups: PlanRemovedGroups;
  readonly foldVpc: FoldVpc;
}
