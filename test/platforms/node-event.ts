import type { Event } from "#core/event.ts";

/** A valid event of the node controller. */
export const NODE_EVENT: Event = {
  version: 1,
  id: "one.test.1",
  cluster: "one",
  clusterHash: "0123456789abcdef",
  controller: "cloud-node-controller",
  reason: "watch",
  objects: [{ metadata: { name: "a", uid: "u" } }],
};
