import { createDigitalOceanWorld } from "#test/clouds/digitalocean/load-balancer-world.ts";
import { loadBalancerConformance } from "#test/clouds/load-balancers-conformance.ts";

loadBalancerConformance("DigitalOcean", createDigitalOceanWorld, {
  cannotPlay: [
    {
      row: "claims",
      because:
        "an annotation hands a load balancer to another Service of the cluster, as it does with the stock controller",
    },
  ],
});
