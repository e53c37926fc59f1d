import * as z from "zod";
import { NAMESPACES } from "#core/resources/resource.ts";
import { parseObject, type Watch } from "#core/watch.ts";

/**
 * The object that represents a whole cluster for a controller: a namespace that every cluster has and that
 * cannot be deleted.
 */
export const ClusterObject = z.object({
  metadata: z.object({
    name: z.string().min(1).max(253),
    uid: z.string().min(1).max(128),
    resourceVersion: z.string().min(1),
    creationTimestamp: z.string().min(1),
  }),
});
export type ClusterObject = z.output<typeof ClusterObject>;

/** How informers watch it. */
export const CLUSTER = {
  resource: NAMESPACES,
  only: { name: "kube-system" },
  scope: "object",
  parse: (value) => parseObject(ClusterObject, value),
  snapshot: (cluster) => ClusterObject.parse(cluster),
  // It is checked when its related objects change.
  needsWork: () => false,
} as const satisfies Partial<Watch<ClusterObject>>;
