import { RESOURCES } from "#emulators/api-server/resources.ts";

/** Returns the static answers: the served resources, and the version that the server emulates. */
export function findDiscoveryDocument(pathname: string): object | undefined {
  return DOCUMENTS[pathname.replace(/\/$/, "")];
}

/** The paths of the health checks. */
export const HEALTH_PATHS: ReadonlySet<string> = new Set(["/healthz", "/livez", "/readyz"]);

const VERSION = { groupVersion: "certificates.k8s.io/v1", version: "v1" };
const CERTIFICATES = { name: "certificates.k8s.io", versions: [VERSION], preferredVersion: VERSION };

const DOCUMENTS: Readonly<Record<string, object>> = {
  "/api": { kind: "APIVersions", versions: ["v1"], serverAddressByClientCIDRs: [] },
  "/apis": { kind: "APIGroupList", apiVersion: "v1", groups: [CERTIFICATES] },
  "/apis/certificates.k8s.io": { kind: "APIGroup", apiVersion: "v1", ...CERTIFICATES },
  "/api/v1": buildResourceList("v1"),
  "/apis/certificates.k8s.io/v1": buildResourceList("certificates.k8s.io/v1"),
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

function buildResourceList(groupVersion: string): object {
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
