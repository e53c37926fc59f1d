/** All that is remembered of every object. */
export interface ObjectKey {
  readonly name: string;
  /** Undefined for cluster-scoped resources. */
  readonly namespace?: string;
  readonly uid: string;
  readonly resourceVersion: string;
}

/** Returns the key of an object; undefined for an invalid object. */
export function parseObjectKey(object: unknown): ObjectKey | undefined {
  const { name, namespace, uid, resourceVersion } = getMetadata(object);
  if (!isName(name) || !isName(uid) || !isVersion(resourceVersion)) return undefined;
  return { name, ...(isName(namespace) ? { namespace } : {}), uid, resourceVersion };
}

/**
 * Returns the name that identifies an object among its resource: `namespace/name`, or the name alone. Neither
 * part can hold a slash.
 */
export function formatFullName({ namespace, name }: Pick<ObjectKey, "name" | "namespace">): string {
  return namespace === undefined ? name : `${namespace}/${name}`;
}

/** Returns an object's unvalidated metadata. */
export function getMetadata(object: unknown): Readonly<Record<string, unknown>> {
  const metadata =
    typeof object === "object" && object !== null && "metadata" in object ? object.metadata : null;
  return typeof metadata === "object" && metadata !== null ? (metadata as Record<string, unknown>) : {};
}

/** kube-apiserver's limit; a longer name is invalid and would cost memory for each object. */
const MAX_NAME = 253;

/** A 64-bit number, or another store's version. */
const MAX_VERSION = 128;

/** Whether a value can be a resourceVersion. */
export function isVersion(value: unknown): value is string {
  return typeof value === "string" && value !== "" && value.length <= MAX_VERSION;
}

function isName(value: unknown): value is string {
  return typeof value === "string" && value !== "" && value.length <= MAX_NAME;
}

const INTEGER = /^(0|[1-9]\d*)$/;

/**
 * Compares two resourceVersions of one resource as integers of any length: negative, zero or positive.
 * Undefined if one is not an integer, because such versions only allow comparison for equality.
 */
export function compareResourceVersions(a: string, b: string): number | undefined {
  if (a === b) return 0;
  if (!INTEGER.test(a) || !INTEGER.test(b)) return undefined;
  if (a.length !== b.length) return a.length - b.length;
  return a < b ? -1 : 1;
}

/** Whether `version` is certainly older than `than`. */
export function isOlderVersion(version: string, than: string): boolean {
  return (compareResourceVersions(version, than) ?? 0) < 0;
}
