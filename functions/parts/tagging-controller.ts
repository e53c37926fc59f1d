import { createTaggingController } from "#core/tagging/controller.ts";

/** The tagging controller, with what tags are on each cloud that has some; each is imported for its clusters alone. */
export const taggingController = createTaggingController({
  aws: async () => (await import("#clouds/aws/tags/model.ts")).awsTags,
});
