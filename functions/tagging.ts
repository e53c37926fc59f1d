import { createLambdaFunction } from "#functions/parts/lambda-function.ts";
import { taggingController } from "#functions/parts/tagging-controller.ts";

/** Lambda handler of the tagging controller: it maintains tags on the instances of a cluster's nodes. */
export const handler = await createLambdaFunction(taggingController);
