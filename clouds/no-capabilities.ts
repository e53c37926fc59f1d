// Replaces a capability, and its SDK clients, in the bundle of a function that does not need it.

/** As in `clouds/aws/load-balancers/capability.ts`. */
export const createLoadBalancers = throwNoCapability;

/** As in `clouds/aws/tags/capability.ts`. */
export const createTags = throwNoCapability;

/** As in `clouds/aws/routes/capability.ts`. */
export const createRoutes = throwNoCapability;

/** As in `clouds/digitalocean/load-balancer-tags/capability.ts`. */
export const createLoadBalancerTags = throwNoCapability;

/** As in `clouds/digitalocean/service-validation/capability.ts`. */
export const createServiceValidation = throwNoCapability;

/** As in `clouds/digitalocean/firewall/capability.ts`. */
export const createFirewall = throwNoCapability;

function throwNoCapability(): never {
  throw new Error("this function was built without this capability");
}
