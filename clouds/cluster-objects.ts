import type { CapabilityErrorCode } from "#core/capability.ts";
import type { PatchOperation, TestOperation } from "#core/decision.ts";
import type { ObjectName, Resource } from "#core/resources/resource.ts";

/** Where objects are kept: what is read of a `Resource`. */
export type ObjectKind = Pick<Resource, "apiVersion" | "name">;

/** Why something of the cluster could not be had or written, in the words of a capability's answer. */
export interface ObjectFault {
  readonly kind: "error";
  readonly code: CapabilityErrorCode;
  readonly message: string;
}

/** One object as it is now; `absent` by the API server's own word alone. */
export type FoundObject =
  | { readonly kind: "object"; readonly object: unknown }
  | { readonly kind: "absent"; readonly message: string }
  | ObjectFault;

/** What was taken of all objects that were asked for, or an error. */
export type FoundObjects<Item> = { readonly kind: "objects"; readonly items: readonly Item[] } | ObjectFault;

/** What came of a patch: the object as it is by now, or that a test did not hold (or the object is not there) and nothing was written. */
export type PatchedObject =
  | { readonly kind: "done"; readonly object: unknown }
  | { readonly kind: "conflict"; readonly message: string }
  | ObjectFault;

/** A JSON patch: what must still be as it was read, and what is done then. */
export interface ObjectPatch {
  readonly tests: readonly TestOperation[];
  readonly operations: readonly PatchOperation[];
}

/**
 * The objects of its cluster that a cloud keeps something in, with the rights of whoever asks the cloud: read from the store rather than from
 * a cache. None of them ever rejects.
 */
export interface ClusterObjects {
  read(kind: ObjectKind, name: ObjectName, signal: AbortSignal): Promise<FoundObject>;
  /** Of those with this label, `key=value`, over all namespaces, what `take` makes of each; the objects themselves are not kept. */
  list<Item>(
    kind: ObjectKind,
    label: string,
    take: (object: unknown) => Item | undefined,
    signal: AbortSignal,
  ): Promise<FoundObjects<Item>>;
  patch(kind: ObjectKind, name: ObjectName, patch: ObjectPatch, signal: AbortSignal): Promise<PatchedObject>;
}

/** Those of a cloud that was loaded without a cluster. */
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
