import { LABEL_PAIRS } from "#core/contracts.ts";
import type { ControllerDescriptor } from "#core/descriptor.ts";
import { NodeSettings } from "#core/node/settings.ts";

const CLOUD_LABELS = LABEL_PAIRS.flatMap(({ beta, stable }) => [`f:${beta}`, `f:${stable}`]);

export const nodeDescriptor = {
  name: "cloud-node-controller",
  functionName: "node",
  enablement: { aliases: ["cloud-node"], onByDefault: true },
  settings: { nodes: NodeSettings.prefault({}) },
  handover: {
    isWriter: ({ has }) =>
      has("f:status", "f:addresses") ||
      has("f:spec", "f:providerID") ||
      CLOUD_LABELS.some((label) => has("f:metadata", "f:labels", label)),
  },
} as const satisfies ControllerDescriptor;
