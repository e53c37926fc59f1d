import * as z from "zod";
import { isReservedTag } from "#core/reserved-tags.ts";

/** AWS allows 50 on a resource: ours, the mark that lists ours, and some of other owners. */
const MAX_TAGS = 40;

const RESERVED_TAG =
  "a tag whose key begins with aws:, kubernetes.io/ or serverless-ccm.io/, or is KubernetesCluster, says whose a resource is";

/** The tags for the cloud resources of nodes. */
export const TaggingSettings = z.strictObject({
  /** `--tags`. */
  tags: z
    .record(z.string().min(1).max(128), z.string().max(256))
    .refine((tags) => Object.keys(tags).length <= MAX_TAGS, { message: `at most ${MAX_TAGS} tags` })
    .superRefine((tags, context) => {
      for (const key of Object.keys(tags).filter(isReservedTag))
        context.addIssue({ code: "custom", path: [key], message: RESERVED_TAG });
    })
    .prefault({}),
  /** `--resources`. */
  resources: z.array(z.enum(["instance"])).prefault(["instance"]),
});
export type TaggingSettings = z.output<typeof TaggingSettings>;
