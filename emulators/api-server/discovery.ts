import { RESOURCES } from "#emulators/api-server/resources.ts";

/** The answers that are the same for all: what is served, and the version that the server behaves like. */
export function discoveryDocument(pathname: string): object | undefined {
  return DOCUMENTS[pathname.replace(/\/$/, "")];
}

/** Paths that say whether the server is well. */
export const HEALTH_PATHS: ReadonlySet<string> = new Set(["/healthz", "/livez", "/readyz"]);

const DOCUMENTS: Readonly<Record<string, object>> = {
  "/api": { kind: "APIVersions", versions: ["v1"], serverAddressByClientCIDRs: [] },
  "/apis": { kind: "APIGroupList", apiVersion: "v1", groups: [] },
  "/api/v1": {
    kind: "APIResourceList",
    groupVersion: "v1",
    resources: RESOURCES.flatMap((resource) => [
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
  },
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
