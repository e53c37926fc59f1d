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
import { readNetwork } from "#clouds/aws/load-balancers/network/desired-state.ts";
import { planFrontendGroups } from "#clouds/aws/load-balancers/network/groups.ts";
import { planRules } from "#clouds/aws/load-balancers/network/node-rules.ts";
import { planRemoval } from "#clouds/aws/load-balancers/network/remove.ts";
import { placeBalancer } from "#clouds/aws/load-balancers/network/subnets.ts";
import { matchPorts, planTargetGroupCreation } from "#clouds/aws/load-balancers/network/target-groups.ts";
import { checkLabels, chooseTargets, getTargetRules } from "#clouds/aws/load-balancers/network/targets.ts";
import { isNameForeign } from "#clouds/aws/load-balancers/ownership.ts";
import type { PlanResult } from "#clouds/aws/load-balancers/types.ts";
import type { Issue, LoadBalancerQuestion, LoadBalancerStep } from "#core/service/model.ts";

/** Returns the next step for a Service's network load balancer. */
export function planNetwork(
  question: LoadBalancerQuestion,
  balancerContext: LoadBalancerContext,
): LoadBalancerStep {
  if (!question.wanted) return planRemoval(balancerContext, question.service);
  const read = readNetwork(question.service, balancerContext.settings);
  if (read.kind === "refused") return read;
  const context: NetworkContext = { ...balancerContext, desired: read.desired };
  const labelIssue = checkLabels(question.nodes, context);
  if (labelIssue !== undefined) return { kind: "refused", issue: labelIssue };
  const balancer = balancerContext.state.network;
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
  // While a security group does not exist yet, this step does not create the load balancer: nodes need no
  // rules, because it sends no traffic.
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
