import { loadBalancerConformance } from "#test/clouds/load-balancers-conformance.ts";
import { memoryWorld } from "#test/clouds/memory/load-balancer-world.ts";

loadBalancerConformance("the memory cloud", memoryWorld, {
  cannotPlay: [
    { row: "source-ranges", because: "its load balancers let everybody in" },
    { row: "taken-names", because: "a load balancer is known by its Service's uid" },
    { row: "other-settings", because: "its load balancers have none" },
  ],
});
