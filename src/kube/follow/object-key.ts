import { sanitizeText } from "#core/sanitize-text.ts";

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

/** The malformed objects of one request, which were left out. */
export interface MalformedObjects {
  add(object: unknown): void;
  /** Total number. */
  readonly count: number;
  /** Reports those not reported yet. */
  end(): void;
}

/**
 * Objects without a name, uid or resourceVersion were left out: the number since the last note, and the first
 * of them.
 */
export interface MalformedNote {
  readonly kind: "malformed";
  readonly objects: number;
  readonly message: string;
}

/** Reports the first malformed object at once, and all others together at the end. */
export function createMalformedObjects(path: string, note: (note: MalformedNote) => void): MalformedObjects {
  let count = 0;
  let untold = 0;
  let message = "";

  function tell(): void {
    if (untold === 0) return;
    note({ kind: "malformed", objects: untold, message });
    untold = 0;
  }

  return {
    get count() {
      return count;
    },
    add(object) {
      count += 1;
      untold += 1;
      if (untold === 1)
        message = `an object (${formatName(object)}) of ${path} has no usable name, uid or resourceVersion`;
      if (count === 1) tell();
    },
    end: tell,
  };
}

function formatName(object: unknown): string {
  const { name } = getMetadata(object);
  return typeof name === "string" ? `"${sanitizeText(name)}"` : "without a name";
}
