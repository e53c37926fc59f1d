import type { Watch } from "#core/controller.ts";
import { faceOf } from "#core/node/face.ts";
import { needsWork } from "#core/node/needs-work.ts";
import type { Node } from "#core/node/node.ts";
import { parseNode, snapshotOf } from "#core/node/snapshot.ts";
import { taintManagerOf } from "#core/node/taint-manager.ts";
import { NODES } from "#core/resources/resource.ts";

/** The cloud-node-controller, as far as it watches: nodes that wait for their cloud, and drift on those that do not. */
export const nodeWatch: Watch<Node> = {
  name: "cloud-node-controller",
  aliases: ["cloud-node"],
  onByDefault: true,
  functionName: "node",
  resource: NODES,
  scope: "object",
  parse: parseNode,
  snapshot: (node, { labelPrefixes }) => snapshotOf(node, labelPrefixes),
  needsWork,
  related: [],
  looks: {
    face: faceOf,
    // A kubelet can overwrite addresses out of a read from before the taint went.
    againSeconds: [20, 60],
  },
  undoneBy: taintManagerOf,
};
