import { nodeController } from "#core/node/controller.ts";
import { createLambdaFunction } from "#functions/parts/lambda-function.ts";

/**
 * Lambda handler of the cloud-node-controller: it initializes nodes and keeps them in line with their
 * instances.
 */
export const handler = await createLambdaFunction(nodeController);
