import { reportOk, reportWarning } from "#core/check-result.ts";
import { TAGS_LABEL } from "#core/contracts.ts";
import type { ControllerDescriptor } from "#core/descriptor.ts";
import { TAGGING, TaggingSettings } from "#core/tagging/settings.ts";

export const taggingDescriptor = {
  name: TAGGING,
  functionName: "tagging",
  // Off by default as in the stock controller: it needs configured tags, and rights that nothing else needs.
  enablement: { aliases: ["tagging-controller"] },
  cloudParts: ["tags"],
  settings: { tagging: TaggingSettings.prefault({}) },
  settingsCheck: {
    name: "tags",
    check({ tagging: { tags, resources } }: { readonly tagging: TaggingSettings }) {
      const keys = Object.keys(tags);
      if (keys.length > 0) return reportOk(`${keys.join(", ")} on each ${resources.join(", ")}`);
      return reportWarning(
        "none are set",
        `set tagging.tags of the cluster's entry (--tags), or take ${TAGGING} off its controllers`,
      );
    },
    warning: `tagging.tags: is empty, and the controller ${TAGGING} does nothing without tags`,
  },
  handover: {
    oneAtATime: true,
    isWriter: ({ has }) => has("f:metadata", "f:labels", `f:${TAGS_LABEL}`),
  },
} as const satisfies ControllerDescriptor;
