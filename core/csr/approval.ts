import { conditionOf, type Verdict } from "#core/csr/conditions.ts";
import type { CertificateSigningRequest } from "#core/csr/csr.ts";
import type { ApproveWrite } from "#core/decision.ts";
import { add, test } from "#core/json-patch.ts";
import { CERTIFICATE_SIGNING_REQUESTS } from "#core/resources/resource.ts";

/**
 * The one patch that decides on a request for good. It is refused where the request is another one of that name by now, or
 * where anybody has decided on it: a condition of these types can never be taken back.
 */
export function approvalOf(
  { metadata: { name, uid } }: CertificateSigningRequest,
  verdict: Verdict,
  now: Date,
): ApproveWrite {
  const lastUpdateTime = `${now.toISOString().slice(0, 19)}Z`;
  const { type, because } = conditionOf(verdict);
  const condition = { type, status: "True", reason: because.code, message: because.message, lastUpdateTime };
  return {
    on: "cluster",
    apiVersion: CERTIFICATE_SIGNING_REQUESTS.apiVersion,
    resource: CERTIFICATE_SIGNING_REQUESTS.name,
    name,
    verb: "approve",
    precondition: [test("/metadata/uid", uid), test("/status/conditions", null)],
    patch: [add("/status/conditions", [condition])],
  };
}
