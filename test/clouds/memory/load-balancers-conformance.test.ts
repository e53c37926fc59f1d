import { loadBalancerConformance } from "#test/clouds/load-balancers-conformance.ts";
import { memoryWorld } from "#test/clouds/memory/load-balancer-world.ts";

loadBalancerConformance("the memory cloud", memoryWorld, {
  cannotPlay: [
    { row: "source-ranges", because: "its load balancers let everybody in" },
    { row: "machines", because: "its load balancers send to whatever provider ID a node has" },
    { row: "taken-names", because: "a load balancer is known by its Service's uid" },
    { row: "other-settings", because: "its load balancers have none" },
  ],
});
