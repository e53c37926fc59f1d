import { routeController } from "#core/route/controller.ts";
import { createLambdaFunction } from "#functions/parts/lambda-function.ts";

/** Lambda handler of the node-route-controller: it maintains routes to the pods of each node. */
export const handler = await createLambdaFunction(routeController);
