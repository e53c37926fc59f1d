import type { ParsedObject } from "#core/controller.ts";
import { CertificateSigningRequest } from "#core/csr/csr.ts";
import { needsWork } from "#core/csr/needs-work.ts";
import { parseObject } from "#core/parse-object.ts";

/** Parses a whole CertificateSigningRequest or its snapshot; never throws. */
export function parseCsr(value: unknown): ParsedObject<CertificateSigningRequest> {
  return parseObject(CertificateSigningRequest, value);
}

/** Returns the part of a request that decisions read; without its content if it needs no work. */
export function projectCsr(csr: CertificateSigningRequest): CertificateSigningRequest {
  if (needsWork(csr)) return csr;
  const { request: _request, ...spec } = csr.spec;
  return { ...csr, spec };
}
