import type { ControllerDescriptor } from "#core/descriptor.ts";

export const csrDescriptor = {
  name: "csr-approver",
  functionName: "csr",
  // Off by default: it needs rights that a cluster without it need not grant (infra/rbac/csr-approver).
  enablement: { aliases: ["csr"] },
} as const satisfies ControllerDescriptor;
