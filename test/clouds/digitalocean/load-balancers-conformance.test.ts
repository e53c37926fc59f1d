import { digitalOceanWorld } from "#test/clouds/digitalocean/load-balancer-world.ts";
import { loadBalancerConformance } from "#test/clouds/load-balancers-conformance.ts";

loadBalancerConformance("DigitalOcean", digitalOceanWorld);
