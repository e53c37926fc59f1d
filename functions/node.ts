import { nodeController } from "#core/node/controller.ts";
import { lambdaFunction } from "#functions/parts/lambda-function.ts";

/** The cloud-node-controller as Lambda calls it: initializes nodes, and keeps them in line with their instances. */
export const handler = await lambdaFunction(nodeController);
