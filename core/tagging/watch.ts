import { CLUSTER, type ClusterObject } from "#core/cluster-object.ts";
import type { Watch } from "#core/controller.ts";
import { relatedNodes } from "#core/tagging/tagged-node.ts";

/** The tagging controller, as far as it watches: a cluster as a whole, whenever its nodes change. */
export const taggingWatch: Watch<ClusterObject> = {
  ...CLUSTER,
  name: "tagging",
  aliases: ["tagging-controller"],
  // As upstream's: it needs tags, and rights that nothing else does.
  onByDefault: false,
  functionName: "tagging",
  // Whether a node is gone is told from a list of nodes that is read right before, which only a batch can have.
  scope: "batch",
  related: [relatedNodes],
  looks: {
    // Nothing on the namespace itself matters.
    fingerprint: () => "",
    everySeconds: 600,
    whenRelatedChange: true,
  },
};
