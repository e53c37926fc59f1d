import type { Watch } from "#core/controller.ts";
import type { CertificateSigningRequest } from "#core/csr/csr.ts";
import { needsWork } from "#core/csr/needs-work.ts";
import { relatedNodes } from "#core/csr/related-node.ts";
import { parseCsr, projectCsr } from "#core/csr/snapshot.ts";
import { CERTIFICATE_SIGNING_REQUESTS } from "#core/resources/resource.ts";

/** The watch half of the csr-approver: kubelets that wait for their serving certificates. */
export const csrWatch: Watch<CertificateSigningRequest> = {
  name: "csr-approver",
  aliases: ["csr"],
  // It needs rights that a cluster without it need not grant (infra/rbac/csr-approver).
  onByDefault: false,
  functionName: "csr",
  resource: CERTIFICATE_SIGNING_REQUESTS,
  scope: "object",
  parse: parseCsr,
  snapshot: projectCsr,
  needsWork,
  related: [relatedNodes],
};
