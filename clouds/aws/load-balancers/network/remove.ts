import { awsAction } from "#clouds/aws/load-balancers/actions.ts";
import { identityFor } from "#clouds/aws/load-balancers/configuration.ts";
import { ownGroups } from "#clouds/aws/load-balancers/network/groups.ts";
import { removeRules } from "#clouds/aws/load-balancers/network/node-rules.ts";
import { isOwnBalancer } from "#clouds/aws/load-balancers/network/own-balancer.ts";
import { arnOf, ownTargetGroups } from "#clouds/aws/load-balancers/network/target-groups.ts";
import { listOwnPorts } from "#clouds/aws/load-balancers/network/wanted.ts";
import { isNameForeign } from "#clouds/aws/load-balancers/ownership.ts";
import { planRemovedGroups } from "#clouds/aws/load-balancers/vpc/remove-groups.ts";
import type { Whose } from "#clouds/aws/load-balancers/whose.ts";
import type { LoadBalancerAction, LoadBalancerStep, Problem } from "#core/service/model.ts";
import type { Service } from "#core/service/service.ts";

/**
 * Takes away all that is the Service's alone: the load balancer, then its target groups, rules on nodes and groups. What it shares with
 * others stays until the audit finds that none of them uses it any more.
 */
export function planRemoval(whose: Whose, service: Service): LoadBalancerStep {
  const { state, name, owner, configuration } = whose;
  // The uid is somebody else's: nothing that it names is ours to look at.
  if (isNameForeign(state, owner, configuration)) return NOTHING_LEFT;
  const balancer = isOwnBalancer(whose) ? state.network?.loadBalancer : undefined;
  if (state.network?.attributes?.["deletion_protection.enabled"] === "true" && balancer !== undefined)
    return { kind: "refused", problem: isProtected(balancer.LoadBalancerArn) };
  const rules = removeRules(whose, listOwnPorts(service));
  const first: LoadBalancerAction[] = [
    ...(balancer === undefined
      ? []
      : [awsAction("elbv2:DeleteLoadBalancer", name, { LoadBalancerArn: balancer.LoadBalancerArn })]),
    ...ownTargetGroups(whose).map(({ group }) =>
      awsAction("elbv2:DeleteTargetGroup", arnOf(group), { TargetGroupArn: arnOf(group) }),
    ),
    ...(rules.kind === "act" ? rules.actions : []),
  ];
  const groups = planRemovedGroups(
    { owner, identity: identityFor(whose.settings), groupIds: ownGroups(whose) },
    state.vpc,
  );
  const [one, ...more] = [...first, ...(groups.kind === "act" ? groups.actions : [])];
  if (one !== undefined) {
    const because = { code: "Removing", message: "the network load balancer and what belongs to it go" };
    return { kind: "act", because, actions: [one, ...more] };
  }
  if (rules.kind === "refused") return rules;
  if (groups.kind === "refused") return groups;
  return NOTHING_LEFT;
}

const NOTHING_LEFT: LoadBalancerStep = { kind: "settled", ingress: [], warnings: [] };

function isProtected(arn: string | undefined): Problem {
  return {
    code: "DeletionProtected",
    detail: `${arn} has deletion protection (attribute deletion_protection.enabled): turn it off, or delete the load balancer by hand`,
  };
}
