import { CLUSTER, type ClusterObject } from "#core/cluster-object.ts";
import { taggingDescriptor } from "#core/tagging/descriptor.ts";
import { relatedNodes } from "#core/tagging/tagged-node.ts";
import type { Watch } from "#core/watch.ts";

/** The watch half of the tagging controller: a cluster as a whole, whenever its nodes change. */
export const taggingWatch: Watch<ClusterObject> = {
  ...CLUSTER,
  name: taggingDescriptor.name,
  functionName: taggingDescriptor.functionName,
  enablement: taggingDescriptor.enablement,
  // The proof that a node is gone needs a list of nodes read right before, which only a batch can have.
  scope: "batch",
  related: [relatedNodes],
  rechecks: {
    resync: {
      // Nothing on the namespace matters.
      fingerprint: () => "",
      everySeconds: 600,
      whenRelatedChange: true,
    },
  },
};
