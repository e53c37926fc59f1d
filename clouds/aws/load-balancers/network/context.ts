import type { LoadBalancerContext } from "#clouds/aws/load-balancers/context.ts";
import type { NetworkDesiredState } from "#clouds/aws/load-balancers/network/desired-state.ts";
import type { Issue, LoadBalancerAction } from "#core/service/model.ts";

/** All inputs of the plan of a network load balancer. */
export interface NetworkContext extends LoadBalancerContext {
  readonly desired: NetworkDesiredState;
}

/** A part of a plan: its actions, and what to report once all of them are done. */
export interface PlanPart {
  readonly actions: readonly LoadBalancerAction[];
  readonly warnings?: readonly Issue[] | undefined;
}
