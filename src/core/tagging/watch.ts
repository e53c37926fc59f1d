import { CLUSTER, type ClusterObject } from "#core/cluster-object.ts";
import { relatedNodes } from "#core/tagging/tagged-node.ts";
import type { Watch } from "#core/watch.ts";

/** The watch half of the tagging controller: a cluster as a whole, whenever its nodes change. */
export const taggingWatch: Watch<ClusterObject> = {
  ...CLUSTER,
  name: "tagging",
  functionName: "tagging",
  // Off by default as in the stock controller: it needs configured tags, and rights that nothing else needs.
  enablement: { aliases: ["tagging-controller"] },
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
