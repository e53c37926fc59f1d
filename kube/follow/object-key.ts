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
  if (!isText(name) || !isText(uid) || !isText(resourceVersion)) return undefined;
  return { name, ...(isText(namespace) ? { namespace } : {}), uid, resourceVersion };
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

function isText(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}
