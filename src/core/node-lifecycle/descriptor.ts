import { NODE_LIFECYCLE_EVENT_SOURCE } from "#core/contracts.ts";
import type { ControllerDescriptor } from "#core/descriptor.ts";

export const nodeLifecycleDescriptor = {
  name: NODE_LIFECYCLE_EVENT_SOURCE,
  functionName: "node-lifecycle",
  enablement: { aliases: ["cloud-node-lifecycle"], onByDefault: true },
  // The list of taints is one field: its last writer added the shutdown taint or kept it.
  handover: { isWriter: ({ has, isShutDown }) => isShutDown && has("f:spec", "f:taints") },
} as const satisfies ControllerDescriptor;
