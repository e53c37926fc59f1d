import { reportOk, reportWarning } from "#core/check-result.ts";
import { TAGS_LABEL } from "#core/contracts.ts";
import { buildRights, CLUSTER_OBJECT, type ControllerOperations, NODE_OBJECTS } from "#core/descriptor.ts";
import { TAGGING, type TaggingSettings } from "#core/tagging/settings.ts";

/** What operators and their tools need of the controller. */
export const taggingOperations: ControllerOperations = {
  rights: {
    followed: [{ ...CLUSTER_OBJECT, controller: TAGGING }],
    // Nodes are counted before tags are removed from the instance of a node that is gone.
    granted: [
      ...buildRights({ ...CLUSTER_OBJECT, controller: TAGGING }, "get"),
      ...buildRights({ ...NODE_OBJECTS, controller: TAGGING }, "list", "patch"),
    ],
  },
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
};
