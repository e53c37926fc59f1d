/**
 * The first resourceVersion of attacks. The honest server beneath never reaches it, and reports so to a watch
 * from there on.
 */
export const FIRST_HOSTILE_VERSION = 2_000_000_000;

/** Returns the JSON of a minimal node that waits for its cloud; further members of `spec` follow a comma. */
export function formatHostileNode(name: string, version: number | string, spec = ""): string {
  return `{"kind":"Node","apiVersion":"v1","metadata":{"name":"${name}","uid":"${name}","resourceVersion":"${version}","creationTimestamp":"2026-01-01T00:00:00Z"},"spec":{"taints":[{"key":"node.cloudprovider.kubernetes.io/uninitialized","value":"true","effect":"NoSchedule"}]${spec}},"status":{"addresses":[{"type":"Hostname","address":"h"}]}}`;
}

/** Returns a page of a list of nodes. */
export function formatHostilePage(
  items: readonly string[],
  version: number | string = FIRST_HOSTILE_VERSION,
  next = "",
): string {
  return `{"kind":"NodeList","apiVersion":"v1","metadata":{"resourceVersion":"${version}","continue":"${next}"},"items":[${items.join(",")}]}`;
}

/** Returns a line of a watch. */
export function watchLine(type: string, object: string): string {
  return `{"type":"${type}","object":${object}}\n`;
}

/** Returns `count` values made by `each`. */
export function repeat<T>(count: number, each: (index: number) => T): T[] {
  return Array.from({ length: count }, (_, index) => each(index));
}
