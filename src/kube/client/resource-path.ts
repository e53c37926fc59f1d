/**
 * Returns the path of a collection in one namespace: `/api/v1/services` and `a` give
 * `/api/v1/namespaces/a/services`.
 */
export function formatNamespacedPath(path: string, namespace: string | undefined): string {
  if (namespace === undefined) return path;
  const resource = path.lastIndexOf("/");
  return `${path.slice(0, resource)}/namespaces/${encodeURIComponent(namespace)}${path.slice(resource)}`;
}
