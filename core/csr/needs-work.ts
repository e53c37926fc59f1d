import { type CertificateSigningRequest, KUBELET_SERVING_SIGNER } from "#core/csr/csr.ts";
import { requestingNode } from "#core/csr/requestor.ts";

/**
 * Whether a request is one that a kubelet makes for its serving certificate and nobody has decided on yet. What somebody else
 * asks for, in a node's name or not, is left to whoever approves that.
 */
export function needsWork({ metadata, spec, status }: CertificateSigningRequest): boolean {
  return (
    spec.signerName === KUBELET_SERVING_SIGNER &&
    metadata.deletionTimestamp === undefined &&
    (status.conditions ?? []).length === 0 &&
    status.certificate === undefined &&
    requestingNode({ spec }) !== undefined
  );
}
