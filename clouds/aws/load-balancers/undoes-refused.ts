import type { AwsLoadBalancerState } from "#clouds/aws/load-balancers/state.ts";
import type { LoadBalancerAction } from "#core/service/model.ts";

/** Without these a load balancer does its work, with fewer targets or without logs. */
const KEPT = /:(Register|ModifyLoadBalancerAttributes$|AddTags$|CreateTags$)/;

/**
 * Whether what was made goes again, as AWS refused an action of ours: there was no load balancer when it was looked at, or none that
 * listens, so that nobody can have been served by it.
 */
export function undoesRefused({ action }: LoadBalancerAction, observed: unknown): boolean {
  // The observation is our own capability's, which has parsed what AWS answered.
  const { network, classic } = observed as AwsLoadBalancerState;
  return !KEPT.test(action) && classic === undefined && (network?.listeners.length ?? 0) === 0;
}
