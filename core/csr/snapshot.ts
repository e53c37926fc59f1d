import type { Parsed } from "#core/controller.ts";
import { CertificateSigningRequest } from "#core/csr/csr.ts";
import { needsWork } from "#core/csr/needs-work.ts";
import { parseObject } from "#core/parse-object.ts";

/** Parses a whole CertificateSigningRequest or a snapshot of one; never throws. */
export function parseCsr(value: unknown): Parsed<CertificateSigningRequest> {
  return parseObject(CertificateSigningRequest, value);
}

/** The part of a request that decisions read; of one that needs no work its content is not. */
export function snapshotOf(csr: CertificateSigningRequest): CertificateSigningRequest {
  if (needsWork(csr)) return csr;
  const { request: _request, ...spec } = csr.spec;
  return { ...csr, spec };
}
