import { loadBalancerConformance } from "#test/clouds/load-balancers-conformance.ts";
import { createMemoryWorld } from "#test/clouds/memory/load-balancer-world.ts";

loadBalancerConformance("the memory cloud", createMemoryWorld, {
  cannotPlay: [
    { row: "source-ranges", because: "its load balancers have no source ranges" },
    { row: "machines", because: "its load balancers send to any provider ID of a node" },
    { row: "taken-names", because: "a load balancer is known by its Service's uid" },
    { row: "other-settings", because: "its load balancers have none" },
  ],
});
