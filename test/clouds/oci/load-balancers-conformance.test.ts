import { loadBalancerConformance } from "#test/clouds/load-balancers-conformance.ts";
import { createOciWorld } from "#test/clouds/oci/load-balancer-world.ts";

// A group of backends has room for 120 rules, and each of these Services takes three.
const SERVICES = 35;

loadBalancerConformance("a load balancer of Oracle Cloud", () => createOciWorld("lb"), {
  every: 3,
  services: SERVICES,
  cannotPlay: [{ row: "udp", because: "load balancers serve TCP; network load balancers play it" }],
});

loadBalancerConformance("a network load balancer of Oracle Cloud", () => createOciWorld("nlb"), {
  every: 3,
  services: SERVICES,
});
