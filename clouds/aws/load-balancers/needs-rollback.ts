import type { AwsLoadBalancerState } from "#clouds/aws/load-balancers/state.ts";
import type { LoadBalancerAction } from "#core/service/model.ts";

/** Without these actions a load balancer works, with fewer targets or without logs. */
const KEPT = /:(Register|ModifyLoadBalancerAttributes$|AddTags$|CreateTags$)/;

/**
 * Whether new resources are removed because AWS rejected an action. True if the observation had no load
 * balancer, or none with listeners: it cannot have served anyone.
 */
export function needsRollback({ action }: LoadBalancerAction, observed: unknown): boolean {
  // The observation comes from our own capability, which has parsed AWS's answers.
  const { network, classic } = observed as AwsLoadBalancerState;
  return !KEPT.test(action) && classic === undefined && (network?.listeners.length ?? 0) === 0;
}
