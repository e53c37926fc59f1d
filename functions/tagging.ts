import { NODE_TAGS_MODELS } from "#clouds/providers.ts";
import { createTaggingController } from "#core/tagging/controller.ts";
import { createLambdaFunction } from "#functions/parts/lambda-function.ts";

/** Lambda handler of the tagging controller: it maintains tags on the instances of a cluster's nodes. */
export const handler = await createLambdaFunction(createTaggingController(NODE_TAGS_MODELS));
