import { KUBELET_SERVING_SIGNER } from "#core/csr/csr.ts";
import { buildRights, type ControllerDescriptor, EVENT_OBJECTS, type RightTarget } from "#core/descriptor.ts";

const NAME = "csr-approver";

const REQUESTS: RightTarget = {
  group: "certificates.k8s.io",
  resource: "certificatesigningrequests",
  controller: NAME,
};

export const csrDescriptor = {
  name: NAME,
  functionName: "csr",
  // Off by default: it needs rights that a cluster without it need not grant (infra/rbac/csr-approver).
  enablement: { aliases: ["csr"] },
  rights: {
    followed: [REQUESTS],
    granted: [
      ...buildRights(REQUESTS, "get"),
      ...buildRights({ ...REQUESTS, subresource: "approval" }, "patch"),
      ...buildRights({ ...REQUESTS, resource: "signers", name: KUBELET_SERVING_SIGNER }, "approve"),
      ...buildRights({ ...EVENT_OBJECTS, controller: NAME }, "create"),
    ],
    byRelay: true,
  },
} as const satisfies ControllerDescriptor;
