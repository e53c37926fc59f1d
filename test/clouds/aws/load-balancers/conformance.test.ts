import { awsWorld } from "#test/clouds/aws/load-balancer-world.ts";
import { loadBalancerConformance } from "#test/clouds/load-balancers-conformance.ts";
import { describeWithPart } from "#test/setup/parts.ts";

describeWithPart("moto", "AWS as moto is it", (program) => {
  loadBalancerConformance("a network load balancer", () => awsWorld(program), {
    every: 12,
    services: 4,
  });
  loadBalancerConformance("a classic load balancer", () => awsWorld(program, "classic"), {
    every: 12,
    services: 4,
    cannotPlay: [{ row: "udp", because: "classic load balancers serve TCP" }],
  });
});
