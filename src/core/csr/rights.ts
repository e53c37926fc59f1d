import { KUBELET_SERVING_SIGNER } from "#core/csr/csr.ts";
import { csrDescriptor } from "#core/csr/descriptor.ts";
import { buildRights, type ControllerRights, EVENT_OBJECTS, type RightTarget } from "#core/descriptor.ts";

const NAME = csrDescriptor.name;

const REQUESTS: RightTarget = {
  group: "certificates.k8s.io",
  resource: "certificatesigningrequests",
  controller: NAME,
};

/** The rights of the controller and of those who follow for it. */
export const csrRights: ControllerRights = {
  followed: [REQUESTS],
  granted: [
    ...buildRights(REQUESTS, "get"),
    ...buildRights({ ...REQUESTS, subresource: "approval" }, "patch"),
    ...buildRights({ ...REQUESTS, resource: "signers", name: KUBELET_SERVING_SIGNER }, "approve"),
    ...buildRights({ ...EVENT_OBJECTS, controller: NAME }, "create"),
  ],
  byRelay: true,
};
