import type { NetworkWanted } from "#clouds/aws/load-balancers/network/wanted.ts";
import type { Whose } from "#clouds/aws/load-balancers/whose.ts";
import type { LoadBalancerAction, Problem } from "#core/service/model.ts";

/** Everything that the plan of a network load balancer reads. */
export interface NetworkContext extends Whose {
  readonly wanted: NetworkWanted;
}

/** A part of a plan: what is to be done for it, and what is to be told once all is done. */
export interface Part {
  readonly actions: readonly LoadBalancerAction[];
  readonly warnings?: readonly Problem[] | undefined;
}
