/** A kind of Kubernetes object, and the path of its collection on the API server. */
export interface Resource {
  /** `v1`, or a group with its version such as `certificates.k8s.io/v1`. */
  readonly apiVersion: string;
  readonly kind: string;
  /** The plural name, as in paths and in RBAC. */
  readonly name: string;
  readonly namespaced: boolean;
}

/** The name of an object, with its namespace. */
export interface ObjectName {
  /** Set for all objects of namespaced resources, and for no others. */
  readonly namespace?: string | undefined;
  readonly name: string;
}

/** The nodes of a cluster. */
export const NODES: Resource = { apiVersion: "v1", kind: "Node", name: "nodes", namespaced: false };

/** The Services of a cluster. */
export const SERVICES: Resource = { apiVersion: "v1", kind: "Service", name: "services", namespaced: true };

/** The namespaces of a cluster. */
export const NAMESPACES: Resource = {
  apiVersion: "v1",
  kind: "Namespace",
  name: "namespaces",
  namespaced: false,
};

/** The certificate signing requests of a cluster. */
export const CERTIFICATE_SIGNING_REQUESTS: Resource = {
  apiVersion: "certificates.k8s.io/v1",
  kind: "CertificateSigningRequest",
  name: "certificatesigningrequests",
  namespaced: false,
};

/** The NodeClaims of a cluster, which Karpenter creates for the machines that it launches. */
export const NODE_CLAIMS: Resource = {
  apiVersion: "karpenter.sh/v1",
  kind: "NodeClaim",
  name: "nodeclaims",
  namespaced: false,
};

/** The ConfigMaps of a cluster. */
export const CONFIG_MAPS: Resource = {
  apiVersion: "v1",
  kind: "ConfigMap",
  name: "configmaps",
  namespaced: true,
};

/** The Leases of a cluster. */
export const LEASES: Resource = {
  apiVersion: "coordination.k8s.io/v1",
  kind: "Lease",
  name: "leases",
  namespaced: true,
};

/** Returns the API group of a resource; empty for the core group. */
export function getApiGroup({ apiVersion }: Pick<Resource, "apiVersion">): string {
  return apiVersion.includes("/") ? (apiVersion.split("/")[0] ?? "") : "";
}

/** Returns the path of all objects of a resource, in all namespaces. */
export function formatCollectionPath({ apiVersion, name }: Pick<Resource, "apiVersion" | "name">): string {
  return `${groupPath(apiVersion)}/${name}`;
}

/**
 * Returns the path that an informer watches: all objects of a resource, or the one with a given name. The
 * list of one name needs RBAC rights to that name only. The path may already have a query.
 */
export function formatFollowedPath(
  resource: Pick<Resource, "apiVersion" | "name">,
  only: ObjectName | undefined,
): string {
  if (only === undefined) return formatCollectionPath(resource);
  const selector = encodeURIComponent(`metadata.name=${only.name}`);
  return `${formatCreationPath(resource, only.namespace)}?fieldSelector=${selector}`;
}

/** Returns a path with a query parameter added. */
export function withQuery(path: string, query: string): string {
  return `${path}${path.includes("?") ? "&" : "?"}${query}`;
}

/**
 * Returns the path of an object or of its subresource. Names are encoded, so a name from outside cannot
 * change the path.
 */
export function formatObjectPath(
  { apiVersion, name: plural }: Pick<Resource, "apiVersion" | "name">,
  { namespace, name }: ObjectName,
  subresource?: string,
): string {
  return `${formatNamespacePath(apiVersion, namespace)}/${plural}/${encodeURIComponent(name)}${
    subresource === undefined ? "" : `/${subresource}`
  }`;
}

/** Returns the path to which a new object is posted. */
export function formatCreationPath(
  { apiVersion, name: plural }: Pick<Resource, "apiVersion" | "name">,
  namespace: string | undefined,
): string {
  return `${formatNamespacePath(apiVersion, namespace)}/${plural}`;
}

/**
 * Returns the key of an object, unique within its resource: `namespace/name`, or the name alone without a
 * namespace.
 */
export function formatObjectKey({ namespace, name }: ObjectName): string {
  return namespace === undefined ? name : `${namespace}/${name}`;
}

function formatNamespacePath(apiVersion: string, namespace: string | undefined): string {
  const group = groupPath(apiVersion);
  return namespace === undefined ? group : `${group}/namespaces/${encodeURIComponent(namespace)}`;
}

function groupPath(apiVersion: string): string {
  return apiVersion.includes("/") ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
}
