import type { ControllerDescriptor } from "#core/descriptor.ts";

export const csrDescriptor = {
  name: "csr-approver",
  functionName: "csr",
  // Off by default: it needs rights that a cluster without it need not grant (infra/rbac/csr-approver).
  enablement: { aliases: ["csr"] },
  // A certificate for any claimed address proves nothing.
  harmOfUntrustedAddresses: "certificates for them would let any node stand in for any other",
} as const satisfies ControllerDescriptor;
