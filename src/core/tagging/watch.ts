import { CLUSTER, type ClusterObject } from "#core/cluster-object.ts";
import type { Watch } from "#core/controller.ts";
import { relatedNodes } from "#core/tagging/tagged-node.ts";

/** The watch half of the tagging controller: a cluster as a whole, whenever its nodes change. */
export const taggingWatch: Watch<ClusterObject> = {
  ...CLUSTER,
  name: "tagging",
  aliases: ["tagging-controller"],
  // Disabled by default as in the stock controller: it needs configured tags, and rights that nothing else
  // needs.
  onByDefault: false,
  functionName: "tagging",
  // The proof that a node is gone needs a list of nodes read right before, which only a batch can have.
  scope: "batch",
  related: [relatedNodes],
  resyncPolicy: {
    // Nothing on the namespace matters.
    fingerprint: () => "",
    everySeconds: 600,
    whenRelatedChange: true,
  },
};
