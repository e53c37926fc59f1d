/** What tells an object from all others of its resource. */
export interface ObjectName {
  readonly name: string;
  /** None where the resource has none. */
  readonly namespace?: string | undefined;
}

/** The collection of one namespace, by that of all: `/api/v1/services` and `a` give `/api/v1/namespaces/a/services`. */
export function collectionPath(path: string, namespace: string | undefined): string {
  if (namespace === undefined) return path;
  const resource = path.lastIndexOf("/");
  return `${path.slice(0, resource)}/namespaces/${encodeURIComponent(namespace)}${path.slice(resource)}`;
}

/** One object of a collection. */
export function objectPath(path: string, { name, namespace }: ObjectName): string {
  return `${collectionPath(path, namespace)}/${encodeURIComponent(name)}`;
}
