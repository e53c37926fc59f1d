/** Where resourceVersions of attacks begin: the honest server beneath never gets there, and says so of a watch from there on. */
export const FIRST_HOSTILE_VERSION = 2_000_000_000;

/** The JSON of a node that waits for its cloud, as small as it can be; further members of `spec` go behind a comma. */
export function hostileNode(name: string, version: number | string, spec = ""): string {
  return `{"kind":"Node","apiVersion":"v1","metadata":{"name":"${name}","uid":"${name}","resourceVersion":"${version}","creationTimestamp":"2026-01-01T00:00:00Z"},"spec":{"taints":[{"key":"node.cloudprovider.kubernetes.io/uninitialized","value":"true","effect":"NoSchedule"}]${spec}},"status":{"addresses":[{"type":"Hostname","address":"h"}]}}`;
}

/** A page of a list of nodes. */
export function hostilePage(
  items: readonly string[],
  version: number | string = FIRST_HOSTILE_VERSION,
  next = "",
): string {
  return `{"kind":"NodeList","apiVersion":"v1","metadata":{"resourceVersion":"${version}","continue":"${next}"},"items":[${items.join(",")}]}`;
}

/** A line of a watch. */
export function watchLine(type: string, object: string): string {
  return `{"type":"${type}","object":${object}}\n`;
}

/** `count` values of what `each` makes. */
export function times<T>(count: number, each: (index: number) => T): T[] {
  return Array.from({ length: count }, (_, index) => each(index));
}
