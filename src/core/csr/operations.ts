import { KUBELET_SERVING_SIGNER } from "#core/csr/csr.ts";
import { csrDescriptor } from "#core/csr/descriptor.ts";
import { buildRights, type ControllerOperations, EVENT_OBJECTS, type RightTarget } from "#core/descriptor.ts";

const NAME = csrDescriptor.name;

const REQUESTS: RightTarget = {
  group: "certificates.k8s.io",
  resource: "certificatesigningrequests",
  controller: NAME,
};

/** What operators and their tools need of the controller. */
export const csrOperations: ControllerOperations = {
  rights: {
    followed: [REQUESTS],
    granted: [
      ...buildRights(REQUESTS, "get"),
      ...buildRights({ ...REQUESTS, subresource: "approval" }, "patch"),
      ...buildRights({ ...REQUESTS, resource: "signers", name: KUBELET_SERVING_SIGNER }, "approve"),
      ...buildRights({ ...EVENT_OBJECTS, controller: NAME }, "create"),
    ],
  },
};
