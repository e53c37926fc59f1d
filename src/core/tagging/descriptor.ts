import type { ControllerDescriptor } from "#core/descriptor.ts";
import { TAGGING, TaggingSettings } from "#core/tagging/settings.ts";

export const taggingDescriptor = {
  name: TAGGING,
  functionName: "tagging",
  // Off by default as in the stock controller: it needs configured tags, and rights that nothing else needs.
  enablement: { aliases: ["tagging-controller"] },
  cloudParts: ["tags"],
  settings: { tagging: TaggingSettings.prefault({}) },
} as const satisfies ControllerDescriptor;
