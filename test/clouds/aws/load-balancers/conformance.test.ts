import { createAwsWorld } from "#test/clouds/aws/load-balancer-world.ts";
import { loadBalancerConformance } from "#test/clouds/load-balancers-conformance.ts";
import { describeWithPart } from "#test/setup/parts.ts";

describeWithPart("moto", "AWS as moto is it", (program) => {
  loadBalancerConformance("a network load balancer", () => createAwsWorld(program), {
    every: 12,
    services: 4,
  });
  loadBalancerConformance("a classic load balancer", () => createAwsWorld(program, "classic"), {
    every: 12,
    services: 4,
    cannotPlay: [{ row: "udp", because: "classic load balancers serve TCP" }],
  });
});
