import type { InstanceController } from "#core/controller.ts";
import type { ParseCertificateRequest } from "#core/csr/certificate-request.ts";
import type { CertificateSigningRequest } from "#core/csr/csr.ts";
import { decideCsr, isTooOld } from "#core/csr/decide.ts";
import { limitRequestWarnings } from "#core/csr/events.ts";
import { needsWork } from "#core/csr/needs-work.ts";
import { nodeOf } from "#core/csr/related-node.ts";
import { type Review, reviewRequest } from "#core/csr/review.ts";
import { csrWatch } from "#core/csr/watch.ts";
import { each } from "#core/decisions.ts";

/**
 * The csr-approver: decides on the serving certificates that kubelets ask for, by what the cloud says of their instances.
 * Reading ASN.1 takes a library, which the core has not: whoever runs the controller brings it.
 */
export function createCsrController(
  parseRequest: ParseCertificateRequest,
): InstanceController<CertificateSigningRequest> {
  // The question and the decision both read the request, which is parsed once.
  const reviews = new WeakMap<CertificateSigningRequest, Review>();
  const reviewOf = (csr: CertificateSigningRequest): Review => {
    const review = reviews.get(csr) ?? reviewRequest(csr, parseRequest);
    reviews.set(csr, review);
    return review;
  };
  return {
    ...csrWatch,
    eventSource: csrWatch.name,
    asks: (csr, { related, now }) => {
      if (!needsWork(csr) || isTooOld(csr, now) || reviewOf(csr).kind !== "names") return undefined;
      const node = nodeOf(csr, related);
      if (node === undefined || node.metadata.deletionTimestamp !== undefined) return undefined;
      return { capability: "instances", node };
    },
    decide: (batch, { now, related }) =>
      each(
        limitRequestWarnings(
          batch.map(({ object: csr, answer }) =>
            decideCsr(csr, { now, review: () => reviewOf(csr), node: nodeOf(csr, related), answer }),
          ),
        ),
      ),
  };
}
