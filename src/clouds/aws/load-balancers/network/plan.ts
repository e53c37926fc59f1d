import { buildAction } from "#clouds/aws/load-balancers/actions.ts";
import { getIdentity } from "#clouds/aws/load-balancers/configuration.ts";
import type { LoadBalancerContext } from "#clouds/aws/load-balancers/context.ts";
import { planBalancerCreation } from "#clouds/aws/load-balancers/network/balancer.ts";
import { planChange } from "#clouds/aws/load-balancers/network/change.ts";
import {
  buildActStep,
  buildNameTakenIssue,
  getActions,
  isOwnBalancer,
  type NetworkContext,
} from "#clouds/aws/load-balancers/network/context.ts";
import { listOwnPorts, readDesiredState } from "#clouds/aws/load-balancers/network/desired-state.ts";
import { listOwnGroups, planFrontendGroups } from "#clouds/aws/load-balancers/network/groups.ts";
import { planRuleRemoval, planRules } from "#clouds/aws/load-balancers/network/node-rules.ts";
import { placeBalancer } from "#clouds/aws/load-balancers/network/subnets.ts";
import {
  getTargetGroupArn,
  listOwnTargetGroups,
  matchPorts,
  planTargetGroupCreation,
} from "#clouds/aws/load-balancers/network/target-groups.ts";
import { chooseTargets, getTargetRules } from "#clouds/aws/load-balancers/network/targets.ts";
import { isNameForeign } from "#clouds/aws/load-balancers/ownership.ts";
import { checkNodeLabels } from "#clouds/aws/load-balancers/select-target.ts";
import type { PlanResult } from "#clouds/aws/load-balancers/types.ts";
import { planGroupRemoval } from "#clouds/aws/load-balancers/vpc/frontend-group.ts";
import type {
  Issue,
  LoadBalancerAction,
  LoadBalancerQuestion,
  LoadBalancerStep,
} from "#core/service/model.ts";
import type { Service } from "#core/service/service.ts";

/** Returns the next step for a Service's network load balancer. */
export function planNetwork(
  question: LoadBalancerQuestion,
  balancerContext: LoadBalancerContext,
): LoadBalancerStep {
  if (!question.wanted) return planRemoval(balancerContext, question.service);
  const read = readDesiredState(question.service, balancerContext.settings);
  if (read.kind === "refused") return read;
  const context: NetworkContext = { ...balancerContext, desired: read.desired };
  const labelIssue = checkNodeLabels(question.nodes, read.desired.annotations["target-node-labels"]);
  if (labelIssue !== undefined) return { kind: "refused", issue: labelIssue };
  const balancer = balancerContext.state.network;
  // Load balancers of both types may have the name.
  if (isNameForeign(balancerContext.state, balancerContext.owner, balancerContext.configuration))
    return { kind: "refused", issue: buildNameTakenIssue(context) };
  if (balancer === undefined) return planCreation(question, context);
  if (!isOwnBalancer(context)) return { kind: "refused", issue: buildNameTakenIssue(context) };
  return planChange(question, balancer, context);
}

/** Plans a new load balancer with its parts. Creates nothing if one part is refused. */
function planCreation(question: LoadBalancerQuestion, context: NetworkContext): LoadBalancerStep {
  const placement = placeBalancer(context, context.desired.internal);
  if (placement.kind === "refused") return placement;
  const groups = planFrontendGroups(context, placement.families);
  if (groups.kind === "refused") return groups;
  const resolved: NetworkContext = {
    ...context,
    desired: { ...context.desired, families: placement.families },
  };
  const targets = chooseTargets(question.nodes, getTargetRules(resolved), resolved);
  const trafficSource = {
    subnets: placement.subnets,
    families: placement.families,
    sharedSecurityGroupId: groups.sharedId,
  };
  // Until its security groups exist, the load balancer is not created, so nodes need no rules yet.
  const rules = groups.ids === undefined ? NO_RULES : planRules(targets.ids, trafficSource, resolved);
  if (rules.kind === "refused") return rules;
  const matched = matchPorts(resolved);
  return buildActStep("Creating", "the network load balancer does not exist yet", [
    ...groups.actions,
    ...(groups.ids === undefined ? [] : [planBalancerCreation(placement, groups.ids, resolved)]),
    ...planTargetGroupCreation(matched, resolved),
    ...getActions(rules),
  ]);
}

const NO_RULES: PlanResult<readonly Issue[]> = { kind: "ready", value: [] };

/**
 * Removes everything that only this Service uses: the load balancer, then its target groups, rules on nodes,
 * and security groups. Shared resources stay until the audit finds them unused.
 */
function planRemoval(context: LoadBalancerContext, service: Service): LoadBalancerStep {
  const { state, name, owner, configuration } = context;
  // Another owner has the name that is derived from this uid. So nothing found by such a name is deleted.
  if (isNameForeign(state, owner, configuration)) return NOTHING_LEFT;
  const balancer = isOwnBalancer(context) ? state.network?.loadBalancer : undefined;
  if (state.network?.attributes?.["deletion_protection.enabled"] === "true" && balancer !== undefined)
    return { kind: "refused", issue: buildProtectedIssue(balancer.LoadBalancerArn) };
  const rules = planRuleRemoval(context, listOwnPorts(service));
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
  const groups = planGroupRemoval(
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
