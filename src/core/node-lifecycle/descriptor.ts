import { NODE_LIFECYCLE_EVENT_SOURCE } from "#core/contracts.ts";
import type { ControllerDescriptor } from "#core/descriptor.ts";

export const nodeLifecycleDescriptor = {
  name: NODE_LIFECYCLE_EVENT_SOURCE,
  functionName: "node-lifecycle",
  enablement: { aliases: ["cloud-node-lifecycle"], onByDefault: true },
} as const satisfies ControllerDescriptor;
