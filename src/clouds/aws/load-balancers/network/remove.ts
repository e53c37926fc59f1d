import { buildAction } from "#clouds/aws/load-balancers/actions.ts";
import { getIdentity } from "#clouds/aws/load-balancers/configuration.ts";
import type { LoadBalancerContext } from "#clouds/aws/load-balancers/context.ts";
import { buildActStep, getActions, isOwnBalancer } from "#clouds/aws/load-balancers/network/context.ts";
import { listOwnPorts } from "#clouds/aws/load-balancers/network/desired-state.ts";
import { listOwnGroups } from "#clouds/aws/load-balancers/network/groups.ts";
import { removeRules } from "#clouds/aws/load-balancers/network/node-rules.ts";
import { getTargetGroupArn, listOwnTargetGroups } from "#clouds/aws/load-balancers/network/target-groups.ts";
import { isNameForeign } from "#clouds/aws/load-balancers/ownership.ts";
import { planRemovedGroups } from "#clouds/aws/load-balancers/vpc/frontend-group.ts";
import type { Issue, LoadBalancerAction, LoadBalancerStep } from "#core/service/model.ts";
import type { Service } from "#core/service/service.ts";

/**
 * Removes everything that only this Service uses: the load balancer, then its target groups, rules on nodes,
 * and groups. Shared resources stay until the audit finds them unused.
 */
export function planRemoval(context: LoadBalancerContext, service: Service): LoadBalancerStep {
  const { state, name, owner, configuration } = context;
  // The uid belongs to another owner: no name derived from it is ours to read.
  if (isNameForeign(state, owner, configuration)) return NOTHING_LEFT;
  const balancer = isOwnBalancer(context) ? state.network?.loadBalancer : undefined;
  if (state.network?.attributes?.["deletion_protection.enabled"] === "true" && balancer !== undefined)
    return { kind: "refused", issue: buildProtectedIssue(balancer.LoadBalancerArn) };
  const rules = removeRules(context, listOwnPorts(service));
  const actions: LoadBalancerAction[] = [
    ...(balancer === undefined
      ? []
      : [buildAction("elbv2:DeleteLoadBalancer", name, { LoadBalancerArn: balancer.LoadBalancerArn })]),
    ...listOwnTargetGroups(context).map(({ group }) =>
      buildAction("elbv2:DeleteTargetGroup", getTargetGroupArn(group), {
        TargetGroupArn: getTargetGroupArn(group),
      }),
    ),
    ...getActions(rules),
  ];
  const groups = planRemovedGroups(
    { owner, identity: getIdentity(context.settings), groupIds: listOwnGroups(context) },
    state.vpc,
  );
  const allActions = [...actions, ...getActions(groups)];
  if (allActions.length > 0)
    return buildActStep("Removing", "the network load balancer and its parts are deleted", allActions);
  if (rules.kind === "refused") return rules;
  if (groups.kind === "refused") return groups;
  return NOTHING_LEFT;
}

const NOTHING_LEFT: LoadBalancerStep = { kind: "settled", ingress: [], warnings: [] };

function buildProtectedIssue(arn: string | undefined): Issue {
  return {
    code: "DeletionProtected",
    detail: `${arn} has deletion protection (attribute deletion_protection.enabled): disable it, or delete the load balancer manually`,
  };
}
