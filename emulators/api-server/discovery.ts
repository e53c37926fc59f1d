import { RESOURCES } from "#emulators/api-server/resources.ts";

/** The answers that are the same for all: what is served, and the version that the server behaves like. */
export function discoveryDocument(pathname: string): object | undefined {
  return DOCUMENTS[pathname.replace(/\/$/, "")];
}

/** Paths that say whether the server is well. */
export const HEALTH_PATHS: ReadonlySet<string> = new Set(["/healthz", "/livez", "/readyz"]);

const VERSION = { groupVersion: "certificates.k8s.io/v1", version: "v1" };
const CERTIFICATES = { name: "certificates.k8s.io", versions: [VERSION], preferredVersion: VERSION };

const DOCUMENTS: Readonly<Record<string, object>> = {
  "/api": { kind: "APIVersions", versions: ["v1"], serverAddressByClientCIDRs: [] },
  "/apis": { kind: "APIGroupList", apiVersion: "v1", groups: [CERTIFICATES] },
  "/apis/certificates.k8s.io": { kind: "APIGroup", apiVersion: "v1", ...CERTIFICATES },
  "/api/v1": resourceList("v1"),
  "/apis/certificates.k8s.io/v1": resourceList("certificates.k8s.io/v1"),
  "/version": {
    major: "1",
    minor: "36",
    gitVersion: "v1.36.3-embedded",
    gitCommit: "",
    gitTreeState: "",
    buildDate: "1970-01-01T00:00:00Z",
    goVersion: "",
    compiler: "",
    platform: "",
  },
};

function resourceList(groupVersion: string): object {
  const resources = RESOURCES.filter(({ apiVersion }) => apiVersion === groupVersion);
  return {
    kind: "APIResourceList",
    groupVersion,
    resources: resources.flatMap((resource) => [
      {
        name: resource.name,
        singularName: resource.singularName,
        namespaced: resource.namespaced,
        kind: resource.kind,
        verbs: resource.verbs,
        shortNames: resource.shortNames,
      },
      ...resource.subresources.map((subresource) => ({
        name: `${resource.name}/${subresource}`,
        singularName: "",
        namespaced: resource.namespaced,
        kind: resource.kind,
        verbs: ["get", "patch", "update"],
      })),
    ]),
  };
}
