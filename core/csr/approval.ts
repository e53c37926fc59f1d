import { type ApprovalResult, buildCondition } from "#core/csr/conditions.ts";
import type { CertificateSigningRequest } from "#core/csr/csr.ts";
import type { ApproveWrite } from "#core/decision.ts";
import { add, test } from "#core/json-patch.ts";
import { CERTIFICATE_SIGNING_REQUESTS } from "#core/resources/resource.ts";

/**
 * Returns the one patch that approves or denies a request. It is rejected if the name now belongs to another
 * request, or if a decision already exists: conditions of these types can never be removed.
 */
export function buildApproval(
  { metadata: { name, uid } }: CertificateSigningRequest,
  verdict: ApprovalResult,
  now: Date,
): ApproveWrite {
  const lastUpdateTime = `${now.toISOString().slice(0, 19)}Z`;
  const { type, because } = buildCondition(verdict);
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
