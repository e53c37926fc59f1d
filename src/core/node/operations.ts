import { LABEL_PAIRS } from "#core/contracts.ts";
import { buildRights, type ControllerOperations, EVENT_OBJECTS, NODE_OBJECTS } from "#core/descriptor.ts";
import type { AnnouncementSource } from "#core/node/settings.ts";

const CLOUD_LABELS = LABEL_PAIRS.flatMap(({ beta, stable }) => [`f:${beta}`, `f:${stable}`]);

/** What operators and their tools need of the controller. */
export const nodeOperations: ControllerOperations = {
  rights: {
    followed: [],
    announcing: [
      {
        group: "karpenter.sh",
        resource: "nodeclaims",
        lookAhead: "node-claims" satisfies AnnouncementSource,
      },
      {
        group: "certificates.k8s.io",
        resource: "certificatesigningrequests",
        lookAhead: "kubelet-csrs" satisfies AnnouncementSource,
      },
    ],
    granted: [
      ...buildRights(NODE_OBJECTS, "get", "patch"),
      ...buildRights({ ...NODE_OBJECTS, subresource: "status" }, "patch"),
      ...buildRights(EVENT_OBJECTS, "create"),
    ],
  },
  handover: {
    isWriter: ({ has }) =>
      has("f:status", "f:addresses") ||
      has("f:spec", "f:providerID") ||
      CLOUD_LABELS.some((label) => has("f:metadata", "f:labels", label)),
  },
};
