import type { ResourceRequest } from "#emulators/api-server/request-info.ts";
import { Refusal } from "#emulators/api-server/status.ts";
import { CONTROL_PLANE_USERS, type ControlPlaneUser } from "#emulators/harness/control-plane.ts";

/** Throws the Refusal that Kubernetes' RBAC would answer with, unless the user may do this. */
export function authorize(user: ControlPlaneUser, request: ResourceRequest): void {
  if (user.groups.includes("system:masters")) return;
  const what = target(request);
  const rules = RULES[user.name] ?? {};
  if (rules[what]?.includes(request.verb)) return;
  const { resource, name, namespace } = request;
  const subject = name === undefined ? resource.name : `${resource.name} "${name}"`;
  const where = namespace === undefined ? "at the cluster scope" : `in the namespace "${namespace}"`;
  throw new Refusal(
    403,
    "Forbidden",
    `${subject} is forbidden: User "${user.name}" cannot ${request.verb} resource "${what}" in API group "${groupOf(resource)}" ${where}`,
    { details: { ...(name === undefined ? {} : { name }), kind: resource.name } },
  );
}

/** The signer whose requests the functions may decide on. */
const SIGNER = "kubernetes.io/kubelet-serving";

/** Throws the Refusal of kube-apiserver's admission, unless the user may decide on requests of this signer. */
export function authorizeSigner(user: ControlPlaneUser, name: string, signerName: unknown): void {
  if (user.groups.includes("system:masters")) return;
  if (signerName === SIGNER && RULES[user.name]?.["signers"]?.includes("approve")) return;
  throw new Refusal(
    403,
    "Forbidden",
    `certificatesigningrequests.certificates.k8s.io "${name}" is forbidden: user not permitted to approve requests with signerName ${JSON.stringify(signerName)}`,
    { details: { name, kind: "certificatesigningrequests" } },
  );
}

/** What the roles in infra/rbac/ allow: per user, resource and verbs. */
export const RULES: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  [CONTROL_PLANE_USERS.relay.name]: {
    nodes: ["list", "watch"],
    certificatesigningrequests: ["list", "watch"],
  },
  [CONTROL_PLANE_USERS.functions.name]: {
    nodes: ["get", "patch"],
    "nodes/status": ["patch"],
    events: ["create"],
    certificatesigningrequests: ["get"],
    "certificatesigningrequests/approval": ["patch"],
    signers: ["approve"],
  },
};

function target({ resource, subresource }: ResourceRequest): string {
  return subresource === undefined ? resource.name : `${resource.name}/${subresource}`;
}

function groupOf({ apiVersion }: ResourceRequest["resource"]): string {
  return apiVersion.includes("/") ? (apiVersion.split("/")[0] ?? "") : "";
}
