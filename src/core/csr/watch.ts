import { needsWork } from "#core/csr/conditions.ts";
import { CertificateSigningRequest } from "#core/csr/csr.ts";
import { csrDescriptor } from "#core/csr/descriptor.ts";
import { relatedNodes } from "#core/csr/related-node.ts";
import { parseObject } from "#core/parse-object.ts";
import { CERTIFICATE_SIGNING_REQUESTS } from "#core/resources/resource.ts";
import type { ParsedObject, Watch } from "#core/watch.ts";

/** The watch half of the csr-approver: kubelets that wait for their serving certificates. */
export const csrWatch: Watch<CertificateSigningRequest> = {
  name: csrDescriptor.name,
  functionName: csrDescriptor.functionName,
  resource: CERTIFICATE_SIGNING_REQUESTS,
  scope: "object",
  enablement: csrDescriptor.enablement,
  parse: parseCsr,
  snapshot: projectCsr,
  needsWork,
  related: [relatedNodes],
};

/** Parses a whole CertificateSigningRequest or its snapshot; never throws. */
function parseCsr(value: unknown): ParsedObject<CertificateSigningRequest> {
  return parseObject(CertificateSigningRequest, value);
}

/** Returns the part of a request that decisions read; without its content if it needs no work. */
function projectCsr(csr: CertificateSigningRequest): CertificateSigningRequest {
  if (needsWork(csr)) return csr;
  const { request: _request, ...spec } = csr.spec;
  return { ...csr, spec };
}
