import { isOwnLoadBalancer } from "#clouds/aws/load-balancers/ownership.ts";
import type { Whose } from "#clouds/aws/load-balancers/whose.ts";
import type { Problem } from "#core/service/model.ts";

/** Whether the load balancer of the derived name is a network load balancer that may be changed and deleted for the Service. */
export function isOwnBalancer({ state, owner, configuration }: Whose): boolean {
  if (state.network === undefined || state.network.loadBalancer.Type !== "network") return false;
  const { tags, loadBalancer } = state.network;
  return isOwnLoadBalancer({ tags, vpc: loadBalancer.VpcId }, owner, configuration);
}

/** What a load balancer of the derived name that is somebody else's comes to. */
export function nameTaken({ state, name, owner }: Whose): Problem {
  const arn = state.network?.loadBalancer.LoadBalancerArn ?? "a classic load balancer";
  return {
    code: "NameTaken",
    detail: `${arn} has the name ${name} and is no network load balancer, or not tagged kubernetes.io/cluster/${owner.clusterTag}: owned`,
  };
}
