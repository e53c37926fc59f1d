import * as z from "zod";

/** The capability of a cloud whose load balancers carry the cluster's tag. */
export const LOAD_BALANCER_TAGS = "loadBalancerTags";

/** The question about tags: which load balancers of these Services lack the tag. */
export const TagsQuestion = z.object({
  services: z.array(
    z.object({
      namespace: z.string(),
      name: z.string(),
      uid: z.string(),
      /** From the Service's annotation, which any tenant can write. */
      loadBalancerID: z.string().optional(),
    }),
  ),
});
export type TagsQuestion = z.output<typeof TagsQuestion>;

/** The observed tags of load balancers. */
export const TagsState = z.object({
  /** IDs of load balancers that lack the tag and belong to a Service by a fact that no tenant can write. */
  lacking: z.array(z.string()),
  /** Load balancers that lack the tag and that only an annotation names: `namespace/name: id`. */
  unproven: z.array(z.string()),
});
export type TagsState = z.output<typeof TagsState>;

/** The action of the capability, with its parameters; the target is the tag. */
export const TAG = "TagLoadBalancers";
export const TagParameters = z.strictObject({ ids: z.array(z.string()).min(1) });
