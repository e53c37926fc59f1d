import { awsAction } from "#clouds/aws/load-balancers/actions.ts";
import type { kindOf } from "#clouds/aws/load-balancers/kind.ts";
import { ownGroups } from "#clouds/aws/load-balancers/network/groups.ts";
import { removeRules } from "#clouds/aws/load-balancers/network/node-rules.ts";
import { isOwnBalancer } from "#clouds/aws/load-balancers/network/own-balancer.ts";
import { isSharedGroupInDoubt, removeSharedGroup } from "#clouds/aws/load-balancers/network/shared-group.ts";
import { arnOf, ownTargetGroups } from "#clouds/aws/load-balancers/network/target-groups.ts";
import { planRemovedGroups } from "#clouds/aws/load-balancers/vpc/remove-groups.ts";
import type { Whose } from "#clouds/aws/load-balancers/whose.ts";
import type { LoadBalancerAction, LoadBalancerStep, Problem } from "#core/service/model.ts";

/**
 * Takes away all that is the Service's: the load balancer, then its target groups, rules on nodes and groups; and with the last
 * network load balancer the group that all of them share.
 */
export function planRemoval(whose: Whose, kind: ReturnType<typeof kindOf>): LoadBalancerStep {
  const { state, name, owner, configuration } = whose;
  const balancer = isOwnBalancer(whose) ? state.network?.loadBalancer : undefined;
  if (state.network?.attributes?.["deletion_protection.enabled"] === "true" && balancer !== undefined)
    return { kind: "refused", problem: isProtected(balancer.LoadBalancerArn) };
  const rules = removeRules(whose);
  const first: LoadBalancerAction[] = [
    ...(balancer === undefined
      ? []
      : [awsAction("elbv2:DeleteLoadBalancer", name, { LoadBalancerArn: balancer.LoadBalancerArn })]),
    ...ownTargetGroups(whose).map(({ group }) =>
      awsAction("elbv2:DeleteTargetGroup", arnOf(group), { TargetGroupArn: arnOf(group) }),
    ),
    ...(rules.kind === "act" ? rules.actions : []),
  ];
  const groups = planRemovedGroups({ owner, groupIds: ownGroups(whose) }, state.vpc);
  // Where it is wanted, whoever has never had one is no reason: another may be about to have its first.
  const isLast = kind === "network" || configuration.sharedBackendSecurityGroup !== true;
  const shared = isLast && balancer === undefined ? removeSharedGroup(whose) : [];
  const [one, ...more] = [...first, ...(groups.kind === "act" ? groups.actions : []), ...shared];
  if (one !== undefined) {
    const because = { code: "Removing", message: "the network load balancer and what belongs to it go" };
    return { kind: "act", because, actions: [one, ...more] };
  }
  if (rules.kind === "refused") return rules;
  if (groups.kind === "refused") return groups;
  if (isLast && isSharedGroupInDoubt(whose)) return LOOK_AGAIN;
  return { kind: "settled", ingress: [], warnings: [] };
}

const LOOK_AGAIN: LoadBalancerStep = {
  kind: "wait",
  because: {
    code: "SharedSecurityGroup",
    message:
      "whether other load balancers still have the security group that all of them share is looked at once more",
  },
  afterSeconds: 5,
};

function isProtected(arn: string | undefined): Problem {
  return {
    code: "DeletionProtected",
    detail: `${arn} has deletion protection (attribute deletion_protection.enabled): turn it off, or delete the load balancer by hand`,
  };
}
