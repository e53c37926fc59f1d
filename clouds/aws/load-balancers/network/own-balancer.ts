import { belongingOf } from "#clouds/aws/load-balancers/belonging.ts";
import type { Whose } from "#clouds/aws/load-balancers/whose.ts";
import type { Problem } from "#core/service/model.ts";

/** Whether the load balancer of the derived name is a network load balancer that may be changed and deleted for the Service. */
export function isOwnBalancer({ state, owner }: Whose): boolean {
  if (state.network === undefined || state.network.loadBalancer.Type !== "network") return false;
  const belonging = belongingOf(state.network.tags, owner);
  // Nobody's tag is on it: then its name must be one that only a uid makes, or a tenant could name any.
  return belonging === "nobody" ? UUID.test(owner.uid) : belonging !== "another";
}

/** What a load balancer of the derived name that is somebody else's comes to. */
export function nameTaken({ state, name }: Whose): Problem {
  const arn = state.network?.loadBalancer.LoadBalancerArn;
  return {
    code: "NameTaken",
    detail: `${arn} has the name ${name} and is another cluster's by its tags, or no network load balancer`,
  };
}

/** As the API server makes uids. */
const UUID = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/;
