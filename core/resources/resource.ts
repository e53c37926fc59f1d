/** A kind of Kubernetes object, and where the API server has its collection. */
export interface Resource {
  /** `v1`, or a group with its version such as `certificates.k8s.io/v1`. */
  readonly apiVersion: string;
  readonly kind: string;
  /** The plural of paths and of RBAC. */
  readonly name: string;
  readonly namespaced: boolean;
}

/** Where one object is. */
export interface ObjectName {
  /** Only of namespaced resources, and there always. */
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

/** The path of all objects of a resource, over all namespaces. */
export function collectionPath({ apiVersion, name }: Pick<Resource, "apiVersion" | "name">): string {
  return `${groupPath(apiVersion)}/${name}`;
}

/**
 * The path of what is followed of a resource: all its objects, or the one of that name, which is a list of at most one and needs no
 * right but to that name. It may have a query already.
 */
export function followedPath(
  resource: Pick<Resource, "apiVersion" | "name">,
  only: ObjectName | undefined,
): string {
  if (only === undefined) return collectionPath(resource);
  const selector = encodeURIComponent(`metadata.name=${only.name}`);
  return `${creationPath(resource, only.namespace)}?fieldSelector=${selector}`;
}

/** A path with more of a query. */
export function withQuery(path: string, query: string): string {
  return `${path}${path.includes("?") ? "&" : "?"}${query}`;
}

/** The path of one object, or of a subresource of it; a name from outside cannot lead elsewhere. */
export function objectPath(
  { apiVersion, name: plural }: Pick<Resource, "apiVersion" | "name">,
  { namespace, name }: ObjectName,
  subresource?: string,
): string {
  return `${namespacePath(apiVersion, namespace)}/${plural}/${encodeURIComponent(name)}${
    subresource === undefined ? "" : `/${subresource}`
  }`;
}

/** The path that an object is created at. */
export function creationPath(
  { apiVersion, name: plural }: Pick<Resource, "apiVersion" | "name">,
  namespace: string | undefined,
): string {
  return `${namespacePath(apiVersion, namespace)}/${plural}`;
}

/** What tells objects of one resource apart: `namespace/name`, or the name alone where there are no namespaces. */
export function keyOfName({ namespace, name }: ObjectName): string {
  return namespace === undefined ? name : `${namespace}/${name}`;
}

function namespacePath(apiVersion: string, namespace: string | undefined): string {
  const group = groupPath(apiVersion);
  return namespace === undefined ? group : `${group}/namespaces/${encodeURIComponent(namespace)}`;
}

function groupPath(apiVersion: string): string {
  return apiVersion.includes("/") ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
}
