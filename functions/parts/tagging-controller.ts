import { NODE_TAGS_MODELS } from "#clouds/providers.ts";
import { createTaggingController } from "#core/tagging/controller.ts";

/** The tagging controller for all clouds with tags of machines. */
export const taggingController = createTaggingController(NODE_TAGS_MODELS);
