import { createTaggingController, type TaggingModels } from "#core/tagging/controller.ts";
import type { TaggingModel } from "#core/tagging/model.ts";

/** The tagging models of each cloud; each is imported only for its clusters. */
const MODELS: TaggingModels = {
  aws: async () => (await import("#clouds/aws/tags/model.ts")).awsTags,
};

/** The tagging controller with the tagging models of each cloud. */
export const taggingController = createTaggingController(MODELS);

/** Loads the tagging model of a cloud; undefined if the cloud has none. */
export async function loadTaggingModel(provider: string): Promise<TaggingModel | undefined> {
  return Object.hasOwn(MODELS, provider) ? MODELS[provider]?.() : undefined;
}
