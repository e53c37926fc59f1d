import { LB, NewLoadBalancer } from "#test/clouds/oci/fake/balancer-parts.ts";
import type { Dialect } from "#test/clouds/oci/fake/balancers.ts";

/** The service of load balancers: lists are arrays, changes are answered without a body. */
export const LOAD_BALANCERS: Dialect = {
  kind: "lb",
  base: "/20170115/loadBalancers",
  idPrefix: "ocid1.loadbalancer",
  create: NewLoadBalancer,
  parts: { backendSets: LB.backendSet, listeners: LB.listener, ruleSets: LB.ruleSet },
  shape: LB.shape,
  list: (items) => items,
  accepted: 204,
};
