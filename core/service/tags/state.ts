import * as z from "zod";

/** What the capability of a cloud is called whose load balancers carry the cluster's tag. */
export const LOAD_BALANCER_TAGS = "loadBalancerTags";

/** What is asked of it: which load balancers of these Services lack the tag. */
export const TagsQuestion = z.object({
  services: z.array(
    z.object({
      namespace: z.string(),
      name: z.string(),
      uid: z.string(),
      /** As the Service's annotation says, which anybody may have written. */
      loadBalancerID: z.string().optional(),
    }),
  ),
});
export type TagsQuestion = z.output<typeof TagsQuestion>;

/** What it observes. */
export const TagsState = z.object({
  /** Ids of those that lack the tag, and are a Service's by what nobody in the cluster writes. */
  lacking: z.array(z.string()),
  /** Those that lack it and that an annotation alone names: `namespace/name: id`. */
  unproven: z.array(z.string()),
});
export type TagsState = z.output<typeof TagsState>;

/** Its action, and what that takes; the target is the tag. */
export const TAG = "TagLoadBalancers";
export const TagParameters = z.strictObject({ ids: z.array(z.string()).min(1) });
