import { firewallController } from "#core/digitalocean/firewall/controller.ts";
import { tagsController } from "#core/digitalocean/load-balancer-tags/controller.ts";
import { createLambdaFunction } from "#functions/parts/lambda-function.ts";
import { orphanController, serviceController } from "#functions/parts/service-controller.ts";

/**
 * Lambda handler of the service-lb-controller: it maintains load balancers of Services, their tags, the
 * firewall rules of the nodes, and load balancers whose Service no longer exists.
 */
export const handler = await createLambdaFunction(
  serviceController,
  orphanController,
  tagsController,
  firewallController,
);
