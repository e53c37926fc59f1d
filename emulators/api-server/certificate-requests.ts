import { isDeepStrictEqual } from "node:util";
import { isJsonObject, type JsonObject, type StoredObject } from "#emulators/api-server/object.ts";
import type { StatusCause } from "#emulators/api-server/status.ts";
import { readCertificateRequest } from "#emulators/harness/certificates.ts";
import type { ControlPlaneUser } from "#emulators/harness/control-plane.ts";

/** A new request as the real server stores it: who asks is what it knows itself, and nobody has decided. */
export function requestedBy(user: ControlPlaneUser, csr: StoredObject): StoredObject {
  const { uid: _uid, extra: _extra, ...asked } = csr.spec ?? {};
  const groups = [...new Set([...user.groups, "system:authenticated"])];
  return { ...csr, spec: { ...asked, username: user.name, groups }, status: {} };
}

/** What an approval changes: conditions, each with the times that the server adds. */
export function withApproval(asked: StoredObject, previous: StoredObject, now: string): StoredObject {
  const before = conditionsOf(previous);
  const conditions = conditionsOf(asked).map((condition) => {
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

/** What kube-apiserver finds wrong with a request, in its words. */
export function certificateRequestCauses(csr: StoredObject): readonly StatusCause[] {
  const decided = conditionsOf(csr).filter(isDecision);
  const both = new Set(decided.map(({ type }) => type)).size > 1;
  return [
    ...(isReadable(csr.spec?.["request"])
      ? []
      : [invalid("spec.request", "PEM block type must be CERTIFICATE REQUEST")]),
    ...(both ? [invalid("status.conditions", "Approved and Denied conditions are mutually exclusive")] : []),
  ];
}

/** What an update may not do to a request: a decision is for good. */
export function certificateRequestUpdateCauses(
  csr: StoredObject,
  previous: StoredObject,
): readonly StatusCause[] {
  const after = conditionsOf(csr);
  const lost = conditionsOf(previous)
    .filter(isDecision)
    .filter((condition) => !after.some((each) => isDeepStrictEqual(each, condition)));
  return lost.map(({ type }) => ({
    reason: "FieldValueForbidden",
    message: `Forbidden: updates may not modify a condition of type "${type}"`,
    field: "status.conditions",
  }));
}

function conditionsOf(csr: StoredObject): readonly JsonObject[] {
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

function invalid(field: string, message: string): StatusCause {
  return { reason: "FieldValueInvalid", message: `Invalid value: ${message}`, field };
}
