import { routeController } from "#core/route/controller.ts";
import { lambdaFunction } from "#functions/parts/lambda-function.ts";

/** The node-route-controller as Lambda calls it: routes to the pods of each node. */
export const handler = await lambdaFunction(routeController);
