// What the bundle of a function that has no use for a capability of a cloud has in that one's place, and with it none of its SDK's clients.

/** As in `clouds/aws/load-balancers/capability.ts`. */
export const createLoadBalancers = noCapability;

/** As in `clouds/aws/tags/capability.ts`. */
export const createTags = noCapability;

/** As in `clouds/aws/routes/capability.ts`. */
export const createRoutes = noCapability;

/** As in `clouds/digitalocean/load-balancer-tags/capability.ts`. */
export const createLoadBalancerTags = noCapability;

/** As in `clouds/digitalocean/service-validation/capability.ts`. */
export const createServiceValidation = noCapability;

/** As in `clouds/digitalocean/firewall/capability.ts`. */
export const createFirewall = noCapability;

function noCapability(): never {
  throw new Error("this function was built without this capability");
}
