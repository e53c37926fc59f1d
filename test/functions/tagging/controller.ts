import { NODE_TAGS_MODELS } from "#clouds/providers.ts";
import { createTaggingController } from "#core/tagging/controller.ts";

/** The tagging controller for all clouds, as its function has it. */
export const taggingController = createTaggingController(NODE_TAGS_MODELS);
