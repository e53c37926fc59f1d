import { isDeepStrictEqual } from "node:util";
import { isJsonObject, type JsonObject, type StoredObject } from "#emulators/api-server/object.ts";
import type { StatusCause } from "#emulators/api-server/status.ts";
import { readCertificateRequest } from "#emulators/harness/certificates.ts";
import type { ControlPlaneUser } from "#emulators/harness/control-plane.ts";

/**
 * Builds a new request as the real server stores it: the server sets the requesting user, and there is no
 * decision.
 */
export function buildRequest(user: ControlPlaneUser, csr: StoredObject): StoredObject {
  const { uid: _uid, extra: _extra, ...asked } = csr.spec ?? {};
  const groups = [...new Set([...user.groups, "system:authenticated"])];
  // The tokens of the real control plane have the user's name as its uid.
  return { ...csr, spec: { ...asked, username: user.name, uid: user.name, groups }, status: {} };
}

/** Applies an approval: conditions, each with the times that the server adds. */
export function applyApproval(asked: StoredObject, previous: StoredObject, now: string): StoredObject {
  const before = getConditions(previous);
  const conditions = getConditions(asked).map((condition) => {
    const known = before.find((each) => each["type"] === condition["type"]);
    const transition = known?.["status"] === condition["status"] ? known?.["lastTransitionTime"] : now;
    return {
      ...condition,
      lastUpdateTime: condition["lastUpdateTime"] ?? now,
      lastTransitionTime: condition["lastTransitionTime"] ?? transition,
    };
  });
  const { conditions: _conditions, ...status } = previous.status ?? {};
  return {
    ...previous,
    metadata: asked.metadata,
    status: conditions.length === 0 ? status : { ...status, conditions },
  };
}

/** Returns the errors of a request, in kube-apiserver's words. */
export function checkCertificateRequest(csr: StoredObject): readonly StatusCause[] {
  const decided = getConditions(csr).filter(isDecision);
  const both = new Set(decided.map(({ type }) => type)).size > 1;
  return [
    ...(isReadable(csr.spec?.["request"])
      ? []
      : [buildInvalidCause("spec.request", "PEM block type must be CERTIFICATE REQUEST")]),
    ...(both
      ? [buildInvalidCause("status.conditions", "Approved and Denied conditions are mutually exclusive")]
      : []),
  ];
}

/** Returns the errors of an update to a request: a decision is final. */
export function checkCertificateRequestUpdate(
  csr: StoredObject,
  previous: StoredObject,
): readonly StatusCause[] {
  const after = getConditions(csr);
  const lost = getConditions(previous)
    .filter(isDecision)
    .filter((condition) => !after.some((each) => isDeepStrictEqual(each, condition)));
  return lost.map(({ type }) => ({
    reason: "FieldValueForbidden",
    message: `Forbidden: updates may not modify a condition of type "${type}"`,
    field: "status.conditions",
  }));
}

function getConditions(csr: StoredObject): readonly JsonObject[] {
  const conditions = csr.status?.["conditions"];
  return Array.isArray(conditions) ? conditions.filter(isJsonObject) : [];
}

function isDecision({ type }: JsonObject): boolean {
  return type === "Approved" || type === "Denied";
}

function isReadable(request: unknown): boolean {
  return (
    typeof request === "string" && readCertificateRequest(Buffer.from(request, "base64").toString("latin1"))
  );
}

function buildInvalidCause(field: string, message: string): StatusCause {
  return { reason: "FieldValueInvalid", message: `Invalid value: ${message}`, field };
}
