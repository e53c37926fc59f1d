import type { LoadBalancerContext } from "#clouds/aws/load-balancers/context.ts";
import { isOwnLoadBalancer } from "#clouds/aws/load-balancers/ownership.ts";
import type { Issue } from "#core/service/model.ts";

/** Whether the load balancer of the derived name is a network load balancer that may be changed and deleted for the Service. */
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
    detail: `${arn} has the name ${name} and is no network load balancer, or not tagged kubernetes.io/cluster/${owner.clusterTag}: owned`,
  };
}
