import { type CertificateSigningRequest, KUBELET_SERVING_SIGNER } from "#core/csr/csr.ts";
import { getRequestingNode } from "#core/csr/requestor.ts";

/**
 * Returns whether a request is a kubelet's own for its serving certificate and has no decision yet. Requests
 * of others, even in a node's name, are left to their approvers.
 */
export function needsWork({ metadata, spec, status }: CertificateSigningRequest): boolean {
  return (
    spec.signerName === KUBELET_SERVING_SIGNER &&
    metadata.deletionTimestamp === undefined &&
    (status.conditions ?? []).length === 0 &&
    status.certificate === undefined &&
    getRequestingNode({ spec }) !== undefined
  );
}
