import { LABEL_PAIRS } from "#core/contracts.ts";
import { buildRights, type ControllerDescriptor, EVENT_OBJECTS, NODE_OBJECTS } from "#core/descriptor.ts";
import { NodeSettings } from "#core/node/settings.ts";

const CLOUD_LABELS = LABEL_PAIRS.flatMap(({ beta, stable }) => [`f:${beta}`, `f:${stable}`]);

export const nodeDescriptor = {
  name: "cloud-node-controller",
  functionName: "node",
  enablement: { aliases: ["cloud-node"], onByDefault: true },
  settings: { nodes: NodeSettings.prefault({}) },
  rights: {
    followed: [],
    granted: [
      ...buildRights(NODE_OBJECTS, "get", "patch"),
      ...buildRights({ ...NODE_OBJECTS, subresource: "status" }, "patch"),
      ...buildRights(EVENT_OBJECTS, "create"),
    ],
    byRelay: true,
  },
  handover: {
    isWriter: ({ has }) =>
      has("f:status", "f:addresses") ||
      has("f:spec", "f:providerID") ||
      CLOUD_LABELS.some((label) => has("f:metadata", "f:labels", label)),
  },
} as const satisfies ControllerDescriptor;
