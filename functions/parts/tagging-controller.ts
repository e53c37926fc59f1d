import { createTaggingController, type TaggingModels } from "#core/tagging/controller.ts";
import type { TaggingModel } from "#core/tagging/model.ts";

/** What tags are on each cloud that has some; each is imported for its clusters alone. */
const MODELS: TaggingModels = {
  aws: async () => (await import("#clouds/aws/tags/model.ts")).awsTags,
};

/** The tagging controller, with what tags are on each cloud. */
export const taggingController = createTaggingController(MODELS);

/** What tags are on a cloud; undefined where it has none. */
export async function loadTaggingModel(provider: string): Promise<TaggingModel | undefined> {
  return Object.hasOwn(MODELS, provider) ? MODELS[provider]?.() : undefined;
}
