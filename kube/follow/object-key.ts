/** What is remembered of every object there is, and no more. */
export interface ObjectKey {
  readonly name: string;
  /** None where the resource has none. */
  readonly namespace?: string;
  readonly uid: string;
  readonly resourceVersion: string;
}

/** The key of an object, or undefined where it has none. */
export function keyOf(object: unknown): ObjectKey | undefined {
  const { name, namespace, uid, resourceVersion } = metadataOf(object);
  if (!isName(name) || !isName(uid) || !isVersion(resourceVersion)) return undefined;
  return { name, ...(isName(namespace) ? { namespace } : {}), uid, resourceVersion };
}

/** By which an object is known among all of its resource: `namespace/name`, or the name alone; neither can hold a slash. */
export function fullNameOf({ namespace, name }: Pick<ObjectKey, "name" | "namespace">): string {
  return namespace === undefined ? name : `${namespace}/${name}`;
}

/** An object's metadata, of which nothing is known. */
export function metadataOf(object: unknown): Readonly<Record<string, unknown>> {
  const metadata =
    typeof object === "object" && object !== null && "metadata" in object ? object.metadata : null;
  return typeof metadata === "object" && metadata !== null ? (metadata as Record<string, unknown>) : {};
}

/** As kube-apiserver bounds names; what is longer is none, and would be kept for each object. */
const MAX_NAME = 253;
/** A number of 64 bits, or what another store has in its place. */
const MAX_VERSION = 128;

/** Whether this can be a resourceVersion. */
export function isVersion(value: unknown): value is string {
  return typeof value === "string" && value !== "" && value.length <= MAX_VERSION;
}

function isName(value: unknown): value is string {
  return typeof value === "string" && value !== "" && value.length <= MAX_NAME;
}
