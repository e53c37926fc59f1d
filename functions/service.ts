import { lambdaFunction } from "#functions/parts/lambda-function.ts";
import { orphanController, serviceController } from "#functions/parts/service-controller.ts";

/** The service-lb-controller as Lambda calls it: load balancers of Services, and those whose Service has gone. */
export const handler = await lambdaFunction(serviceController, orphanController);
