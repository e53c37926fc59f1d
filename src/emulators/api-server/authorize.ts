import type { Right } from "#core/descriptor.ts";
import { formatUser, IDENTITIES } from "#core/identities.ts";
import { getApiGroup } from "#core/resources/resource.ts";
import { RIGHTS } from "#core/rights.ts";
import type { ResourceRequest } from "#emulators/api-server/request-info.ts";
import { CERTIFICATE_SIGNING_REQUESTS, getSubject } from "#emulators/api-server/resources.ts";
import { createForbidden } from "#emulators/api-server/status.ts";
import type { ControlPlaneUser } from "#emulators/harness/control-plane.ts";

/** Throws the Refusal of Kubernetes's RBAC unless the user may do this. */
export function authorize(user: ControlPlaneUser, request: ResourceRequest): void {
  if (user.groups.includes("system:masters")) return;
  if (listRights(user).some((right) => isAllowed(right, request))) return;
  const { resource, name, namespace } = request;
  const where = namespace === undefined ? "at the cluster scope" : `in the namespace "${namespace}"`;
  throw createForbidden(
    getSubject(resource),
    name,
    `User "${user.name}" cannot ${request.verb} resource "${formatTarget(request)}" in API group "${getApiGroup(resource)}" ${where}`,
  );
}

/** Throws the Refusal of kube-apiserver's admission, unless the user may decide on requests of this signer. */
export function authorizeSigner(user: ControlPlaneUser, name: string, signerName: unknown): void {
  if (user.groups.includes("system:masters")) return;
  const mayApprove = listRights(user).some(
    ({ verb, resource, name: signer }) =>
      verb === "approve" && resource === "signers" && signer === signerName,
  );
  if (mayApprove) return;
  throw createForbidden(
    getSubject(CERTIFICATE_SIGNING_REQUESTS),
    name,
    `user not permitted to approve requests with signerName ${JSON.stringify(signerName)}`,
  );
}

/** Throws the Refusal of kube-apiserver, unless the user may act as another. */
export function authorizeImpersonation(user: ControlPlaneUser, name: string): void {
  if (user.groups.includes("system:masters")) return;
  const may = listRights(user).some((right) => right.verb === "impersonate" && right.name === name);
  if (may) return;
  throw createForbidden(
    { group: "", name: "users" },
    name,
    `User "${user.name}" cannot impersonate resource "users" in API group "" at the cluster scope`,
  );
}

/**
 * Returns the grants of the manifests in infra/rbac, including those of controllers that are disabled by
 * default.
 */
export function listRights({ name }: ControlPlaneUser): readonly Right[] {
  const identity = IDENTITIES.find((each) => formatUser(each) === name);
  return identity === undefined ? [] : RIGHTS[identity];
}

function isAllowed(right: Right, { verb, resource, subresource, namespace, name }: ResourceRequest): boolean {
  return (
    right.verb === verb &&
    right.group === getApiGroup(resource) &&
    right.resource === resource.name &&
    right.subresource === subresource &&
    (right.namespace === undefined || right.namespace === namespace) &&
    (right.name === undefined || right.name === name)
  );
}

function formatTarget({ resource, subresource }: ResourceRequest): string {
  return subresource === undefined ? resource.name : `${resource.name}/${subresource}`;
}
