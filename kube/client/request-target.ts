/** The resource and object that a request addresses. */
export interface RequestTarget {
  /** The resource's plural as in paths and RBAC; `other` for paths without objects. */
  readonly resource: string;
  readonly subresource: string | undefined;
  readonly namespace: string | undefined;
  /** The object's name, chosen by the cluster's owner. */
  readonly name: string | undefined;
}

/** `/api/v1` or `/apis/group/version`, a namespace, the plural, a name and its subresource. */
const OBJECTS =
  /^\/(?:api\/[^/]+|apis\/[^/]+\/[^/]+)(?:\/namespaces\/([^/]+)(?=\/))?\/([a-z]+)(?:\/([^/]+))?(?:\/([a-z]+))?$/;

/** Parses a path; ignores its query. */
export function parseRequestTarget(path: string): RequestTarget {
  const [before = ""] = path.split("?", 1);
  const [, namespace, resource = "other", name, subresource] = OBJECTS.exec(before) ?? [];
  return { resource, subresource, namespace: decodeSegment(namespace), name: decodeSegment(name) };
}

/** These paths are our own, but an invalid name must not fail a request. */
function decodeSegment(text: string | undefined): string | undefined {
  try {
    return text === undefined ? undefined : decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
