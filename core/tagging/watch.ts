import * as z from "zod";
import { SYSTEM_NAMESPACE } from "#core/contracts.ts";
import type { Watch } from "#core/controller.ts";
import { parseObject } from "#core/parse-object.ts";
import { NAMESPACES } from "#core/resources/resource.ts";
import { relatedNodes } from "#core/tagging/tagged-node.ts";

/** The namespace that stands for the cluster, whose nodes are tagged together. */
export const ClusterNamespace = z.object({
  metadata: z.object({
    name: z.string().min(1),
    uid: z.string().min(1),
    resourceVersion: z.string().min(1),
    creationTimestamp: z.string(),
    deletionTimestamp: z.string().optional(),
  }),
});
export type ClusterNamespace = z.output<typeof ClusterNamespace>;

/** The tagging controller, as far as it watches: the cluster as a whole, and its nodes. */
export const taggingWatch: Watch<ClusterNamespace> = {
  name: "tagging",
  aliases: [],
  // As upstream's: it needs tags, and rights that nothing else does.
  onByDefault: false,
  functionName: "tagging",
  resource: NAMESPACES,
  only: { name: SYSTEM_NAMESPACE },
  // What is left of a node that is gone is told from the number of nodes there are.
  scope: "batch",
  parse: (value) => parseObject(ClusterNamespace, value),
  snapshot: ({ metadata: { name, uid, resourceVersion, creationTimestamp, deletionTimestamp } }) => ({
    metadata: { name, uid, resourceVersion, creationTimestamp, deletionTimestamp },
  }),
  needsWork: () => false,
  related: [relatedNodes],
  looks: { fingerprint: () => "", everySeconds: 600, whenRelatedChange: true },
};
