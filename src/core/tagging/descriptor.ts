import { TAGS_LABEL } from "#core/contracts.ts";
import { buildRights, CLUSTER_OBJECT, type ControllerDescriptor, NODE_OBJECTS } from "#core/descriptor.ts";
import { TaggingSettings } from "#core/tagging/settings.ts";

const NAME = "tagging";

export const taggingDescriptor = {
  name: NAME,
  functionName: "tagging",
  // Off by default as in the stock controller: it needs configured tags, and rights that nothing else needs.
  enablement: { aliases: ["tagging-controller"] },
  cloudParts: ["tags"],
  settings: { tagging: TaggingSettings },
  rights: {
    followed: [{ ...CLUSTER_OBJECT, controller: NAME }],
    // Nodes are counted before tags are removed from the instance of a node that is gone.
    granted: [
      ...buildRights({ ...CLUSTER_OBJECT, controller: NAME }, "get"),
      ...buildRights({ ...NODE_OBJECTS, controller: NAME }, "list", "patch"),
    ],
  },
  handover: {
    oneAtATime: true,
    isWriter: ({ has }) => has("f:metadata", "f:labels", `f:${TAGS_LABEL}`),
  },
} as const satisfies ControllerDescriptor;
