import { lambdaFunction } from "#functions/parts/lambda-function.ts";
import { serviceController } from "#functions/parts/service-controller.ts";

/** The service-lb-controller as Lambda calls it: load balancers of Services. */
export const handler = await lambdaFunction(serviceController);
