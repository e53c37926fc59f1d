import type { CapabilityErrorCode } from "#core/capability.ts";
import type { PatchOperation, TestOperation } from "#core/decision.ts";
import type { ObjectName, Resource } from "#core/resources/resource.ts";

/** The kind of objects: the fields of `Resource` that are used. */
export type ObjectKind = Pick<Resource, "apiVersion" | "name">;

/** Why an object of the cluster could not be read or written, in the form of a capability's answer. */
export interface ObjectFault {
  readonly kind: "error";
  readonly code: CapabilityErrorCode;
  readonly message: string;
}

/** The current state of an object; `absent` only if the API server says so. */
export type FoundObject =
  | { readonly kind: "object"; readonly object: unknown }
  | { readonly kind: "absent"; readonly message: string }
  | ObjectFault;

/** The extracted part of all requested objects, or an error. */
export type FoundObjects<Item> = { readonly kind: "objects"; readonly items: readonly Item[] } | ObjectFault;

/**
 * The result of a patch: the current object, or that a test failed or the object is missing, so that nothing
 * was written.
 */
export type PatchedObject =
  | { readonly kind: "done"; readonly object: unknown }
  | { readonly kind: "conflict"; readonly message: string }
  | ObjectFault;

/** A JSON patch: tests of what was read, and the changes. */
export interface ObjectPatch {
  readonly tests: readonly TestOperation[];
  readonly operations: readonly PatchOperation[];
}

/**
 * Objects of its cluster in which a cloud stores data, with the caller's rights. They are read from the API
 * server, not from a cache. No method ever rejects.
 */
export interface ClusterObjects {
  read(kind: ObjectKind, name: ObjectName, signal: AbortSignal): Promise<FoundObject>;
  /**
   * Lists objects with this label, `key=value`, in all namespaces, and returns the result of `take` for each;
   * the objects are not kept.
   */
  list<Item>(
    kind: ObjectKind,
    label: string,
    take: (object: unknown) => Item | undefined,
    signal: AbortSignal,
  ): Promise<FoundObjects<Item>>;
  patch(kind: ObjectKind, name: ObjectName, patch: ObjectPatch, signal: AbortSignal): Promise<PatchedObject>;
}

/** Access for a cloud that was loaded without a cluster. */
export const NO_CLUSTER_OBJECTS: ClusterObjects = {
  read: async () => NO_CLUSTER,
  list: async () => NO_CLUSTER,
  patch: async () => NO_CLUSTER,
};

const NO_CLUSTER: ObjectFault = {
  kind: "error",
  code: "Invalid",
  message: "the cloud was loaded without the cluster whose objects it reads",
};
