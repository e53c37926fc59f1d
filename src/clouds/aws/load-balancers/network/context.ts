import type { LoadBalancerContext } from "#clouds/aws/load-balancers/context.ts";
import type { NetworkDesiredState } from "#clouds/aws/load-balancers/network/desired-state.ts";
import { isOwnLoadBalancer } from "#clouds/aws/load-balancers/ownership.ts";
import type { PlanResult } from "#clouds/aws/load-balancers/types.ts";
import type { Issue, LoadBalancerAction, LoadBalancerStep } from "#core/service/model.ts";

/** All inputs of the plan of a network load balancer. */
export interface NetworkContext extends LoadBalancerContext {
  readonly desired: NetworkDesiredState;
}

/** A part of a plan: its actions, and what to report once all of them are done. */
export interface PlanPart {
  readonly actions: readonly LoadBalancerAction[];
  readonly warnings?: readonly Issue[] | undefined;
}

/**
 * Whether the load balancer of the derived name is a network load balancer that may be changed and deleted
 * for the Service.
 */
export function isOwnBalancer({ state, owner, configuration }: LoadBalancerContext): boolean {
  if (state.network === undefined || state.network.loadBalancer.Type !== "network") return false;
  const { tags, loadBalancer } = state.network;
  return isOwnLoadBalancer({ tags, vpc: loadBalancer.VpcId }, owner, configuration);
}

/** Builds the issue of a load balancer with the derived name that belongs to another owner. */
export function buildNameTakenIssue({ state, name, owner }: LoadBalancerContext): Issue {
  const arn = state.network?.loadBalancer.LoadBalancerArn ?? "a classic load balancer";
  return {
    code: "NameTaken",
    detail: `${arn} has the name ${name} and is not a network load balancer, or not tagged kubernetes.io/cluster/${owner.clusterTag}: owned`,
  };
}

/** Returns the actions of a part that has some. */
export function getActions(part: PlanResult<unknown>): readonly LoadBalancerAction[] {
  return part.kind === "act" ? part.actions : [];
}

/** Returns the step with the actions; without actions it waits. */
export function buildActStep(
  code: string,
  message: string,
  actions: readonly LoadBalancerAction[],
): LoadBalancerStep {
  const [first, ...more] = actions;
  if (first === undefined) return buildWaitStep(code, message);
  return { kind: "act", because: { code, message }, actions: [first, ...more] };
}

/** Returns the step that waits until AWS shows the result of earlier actions. */
export function buildWaitStep(code: string, message: string): LoadBalancerStep {
  return { kind: "wait", because: { code, message }, afterSeconds: 5 };
}
