import type { ControllerDescriptor } from "#core/descriptor.ts";
import { NodeSettings } from "#core/node/settings.ts";

export const nodeDescriptor = {
  name: "cloud-node-controller",
  functionName: "node",
  enablement: { aliases: ["cloud-node"], onByDefault: true },
  cloudParts: ["look-ahead"],
  settings: { nodes: NodeSettings.prefault({}) },
} as const satisfies ControllerDescriptor;
