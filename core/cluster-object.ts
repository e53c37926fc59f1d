import * as z from "zod";
import type { Watch } from "#core/controller.ts";
import { parseObject } from "#core/parse-object.ts";
import { NAMESPACES } from "#core/resources/resource.ts";

/** What stands for a cluster where a controller is about all of it: a namespace that each has and nobody can delete. */
export const ClusterObject = z.object({
  metadata: z.object({
    name: z.string().min(1).max(253),
    uid: z.string().min(1).max(128),
    resourceVersion: z.string().min(1),
    creationTimestamp: z.string().min(1),
  }),
});
export type ClusterObject = z.output<typeof ClusterObject>;

/** How it is followed. */
export const CLUSTER = {
  resource: NAMESPACES,
  only: { name: "kube-system" },
  scope: "object",
  parse: (value) => parseObject(ClusterObject, value),
  snapshot: (cluster) => ClusterObject.parse(cluster),
  // It is looked at when what is read with it changes.
  needsWork: () => false,
} as const satisfies Partial<Watch<ClusterObject>>;
