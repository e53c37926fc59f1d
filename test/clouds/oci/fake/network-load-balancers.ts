import { NewNetworkLoadBalancer, NLB } from "#test/clouds/oci/fake/balancer-parts.ts";
import type { Dialect } from "#test/clouds/oci/fake/balancers.ts";

/**
 * The service of network load balancers: lists are in `items`, and an accepted request is answered with 202.
 */
export const NETWORK_LOAD_BALANCERS: Dialect = {
  kind: "nlb",
  base: "/20200501/networkLoadBalancers",
  idPrefix: "ocid1.networkloadbalancer",
  create: NewNetworkLoadBalancer,
  parts: { backendSets: NLB.backendSet, listeners: NLB.listener },
  shape: undefined,
  list: (items) => ({ status: 200, body: { items } }),
  accepted: 202,
};
