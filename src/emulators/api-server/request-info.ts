import { findResource, type Resource } from "#emulators/api-server/resources.ts";

/** The served verbs of Kubernetes. */
export type Verb = "get" | "list" | "watch" | "create" | "update" | "patch" | "delete";

/** A parsed request for a resource. */
export interface ResourceRequest {
  readonly verb: Verb;
  readonly resource: Resource;
  readonly namespace: string | undefined;
  readonly name: string | undefined;
  readonly subresource: string | undefined;
}

/**
 * Parses method and path of `/api/v1/…` or `/apis/GROUP/VERSION/…`; undefined for an unknown resource,
 * "method" for an unknown verb.
 */
export function parseResourceRequest(
  method: string,
  pathname: string,
  query: URLSearchParams,
): ResourceRequest | "method" | undefined {
  const [, root, ...segments] = pathname.split("/");
  const depth = root === "apis" ? 2 : 1;
  const apiVersion = segments.slice(0, depth).join("/");
  const parts = segments.slice(depth).map(decodeURIComponent);
  const inNamespace = parts[0] === "namespaces" && parts.length > 2;
  const namespace = inNamespace ? parts[1] : undefined;
  const [resourceName = "", name, subresource, ...rest] = inNamespace ? parts.slice(2) : parts;
  const resource = findResource(resourceName);
  if (resource?.apiVersion !== apiVersion || rest.length > 0 || (inNamespace && !resource.namespaced))
    return undefined;
  if (subresource !== undefined && !resource.subresources.includes(subresource)) return undefined;
  const verb = getVerb(method, name !== undefined, ["1", "true"].includes(query.get("watch") ?? ""));
  const allowed = subresource === undefined ? resource.verbs : ["get", "patch", "update"];
  if (verb === undefined || !allowed.includes(verb)) return "method";
  // Without a namespace only collections can be read.
  if (resource.namespaced && namespace === undefined && verb !== "list" && verb !== "watch") return "method";
  return { verb, resource, namespace, name: name ?? nameSelected(verb, query), subresource };
}

/** A list or watch of one name is authorized as that name. */
function nameSelected(verb: Verb, query: URLSearchParams): string | undefined {
  if (verb !== "list" && verb !== "watch") return undefined;
  const [, name] = /(?:^|,)metadata\.name==?([^,]+)/.exec(query.get("fieldSelector") ?? "") ?? [];
  return name;
}

function getVerb(method: string, named: boolean, watch: boolean): Verb | undefined {
  switch (method) {
    case "GET":
      return named ? "get" : watch ? "watch" : "list";
    case "POST":
      return named ? undefined : "create";
    case "PUT":
      return named ? "update" : undefined;
    case "PATCH":
      return named ? "patch" : undefined;
    case "DELETE":
      return named ? "delete" : undefined;
    default:
      return undefined;
  }
}

/** Returns the key of a request's object in the store, or of any namespaced name. */
export function formatKey(namespace: string | undefined, name: string): string {
  return namespace === undefined ? name : `${namespace}/${name}`;
}
