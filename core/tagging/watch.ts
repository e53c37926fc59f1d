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
  // What is left of a node that is gone is told from the number of nodes there are, which is read with a state alone.
  scope: "batch",
  related: [relatedNodes],
  looks: {
    // Nothing on the namespace itself matters.
    fingerprint: () => "",
    everySeconds: 600,
    whenRelatedChange: true,
  },
};
