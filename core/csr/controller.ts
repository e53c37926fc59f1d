import type { InstanceController } from "#core/controller.ts";
import type { ParseCertificateRequest } from "#core/csr/certificate-request.ts";
import type { CertificateSigningRequest } from "#core/csr/csr.ts";
import { decideCsr, isTooOld } from "#core/csr/decide.ts";
import { limitRequestWarnings } from "#core/csr/events.ts";
import { needsWork } from "#core/csr/needs-work.ts";
import { findRequestingNode } from "#core/csr/related-node.ts";
import { type Review, reviewRequest } from "#core/csr/review.ts";
import { csrWatch } from "#core/csr/watch.ts";
import { planEach } from "#core/decisions.ts";

/**
 * Creates the csr-approver, which decides on serving certificates of kubelets by the cloud's facts about
 * their instances. Parsing ASN.1 needs a library, which the core must not import: the caller supplies it.
 */
export function createCsrController(
  parseRequest: ParseCertificateRequest,
): InstanceController<CertificateSigningRequest> {
  // Question and decision both read the request, which is parsed once.
  const reviews = new WeakMap<CertificateSigningRequest, Review>();
  const reviewOf = (csr: CertificateSigningRequest): Review => {
    const review = reviews.get(csr) ?? reviewRequest(csr, parseRequest);
    reviews.set(csr, review);
    return review;
  };
  return {
    ...csrWatch,
    eventSource: csrWatch.name,
    buildQuestion: (csr, { related, now }) => {
      if (!needsWork(csr) || isTooOld(csr, now) || reviewOf(csr).kind !== "names") return undefined;
      const node = findRequestingNode(csr, related);
      if (node === undefined || node.metadata.deletionTimestamp !== undefined) return undefined;
      return { capability: "instances", node };
    },
    decide: (batch, { now, related }) =>
      planEach(
        limitRequestWarnings(
          batch.map(({ object: csr, answer }) =>
            decideCsr(csr, {
              now,
              review: () => reviewOf(csr),
              node: findRequestingNode(csr, related),
              answer,
            }),
          ),
        ),
      ),
  };
}
