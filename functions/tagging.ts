import { lambdaFunction } from "#functions/parts/lambda-function.ts";
import { taggingController } from "#functions/parts/tagging-controller.ts";

/** The tagging controller as Lambda calls it: keeps tags on the instances of a cluster's nodes. */
export const handler = await lambdaFunction(taggingController);
