import { firewallController } from "#core/firewall/controller.ts";
import { tagsController } from "#core/service/tags/controller.ts";
import { lambdaFunction } from "#functions/parts/lambda-function.ts";
import { orphanController, serviceController } from "#functions/parts/service-controller.ts";

/** The service-lb-controller as Lambda calls it: load balancers of Services, those whose Service has gone, their tags, and the firewall before the nodes. */
export const handler = await lambdaFunction(
  serviceController,
  orphanController,
  tagsController,
  firewallController,
);
