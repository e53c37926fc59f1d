/** What a request to an API server is about. */
export interface RequestTarget {
  /** The plural of paths and of RBAC; `other` for what is no path of objects. */
  readonly resource: string;
  readonly subresource: string | undefined;
  readonly namespace: string | undefined;
  /** Of one object; as the cluster's owner has named it. */
  readonly name: string | undefined;
}

/** `/api/v1` or `/apis/group/version`, a namespace, the plural, a name and what is under it. */
const OBJECTS =
  /^\/(?:api\/[^/]+|apis\/[^/]+\/[^/]+)(?:\/namespaces\/([^/]+)(?=\/))?\/([a-z]+)(?:\/([^/]+))?(?:\/([a-z]+))?$/;

/** Reads a path, without regard to its query. */
export function targetOfPath(path: string): RequestTarget {
  const [before = ""] = path.split("?", 1);
  const [, namespace, resource = "other", name, subresource] = OBJECTS.exec(before) ?? [];
  return { resource, subresource, namespace: decoded(namespace), name: decoded(name) };
}

/** These paths are our own, but what is no name of an object is not to cost a request. */
function decoded(text: string | undefined): string | undefined {
  try {
    return text === undefined ? undefined : decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
