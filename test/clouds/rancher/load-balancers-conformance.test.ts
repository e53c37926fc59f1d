import { loadBalancerConformance } from "#test/clouds/load-balancers-conformance.ts";
import { createCattleLoadBalancerWorld } from "#test/clouds/rancher/load-balancer-world.ts";

loadBalancerConformance("an environment of Rancher 1.x", createCattleLoadBalancerWorld, {
  every: 3,
  services: 20,
  cannotPlay: [
    { row: "source-ranges", because: "its load balancers have no source ranges" },
    { row: "udp", because: "its load balancers serve TCP alone" },
    { row: "taken-names", because: "a load balancer is known by its Service's uid, in a stack of its own" },
    { row: "other-settings", because: "its load balancers have none" },
    { row: "machines", because: "all hosts of an environment are the cluster's" },
    { row: "clusters", because: "an environment has one cluster, and its keys reach no other environment" },
    { row: "orphans", because: "its load balancers say nothing of their Service, and cannot be marked" },
  ],
});
