import { loadBalancerConformance } from "#test/clouds/load-balancers-conformance.ts";
import { ociWorld } from "#test/clouds/oci/load-balancer-world.ts";

loadBalancerConformance("a load balancer of Oracle Cloud", () => ociWorld("lb"), {
  every: 3,
  cannotPlay: [{ row: "udp", because: "load balancers serve TCP; network load balancers play it" }],
});

loadBalancerConformance("a network load balancer of Oracle Cloud", () => ociWorld("nlb"), {
  every: 3,
});
