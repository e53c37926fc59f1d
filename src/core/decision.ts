import * as z from "zod";
import { catalogEventFields, isCatalogEvent } from "#core/cluster-events.ts";
import type { UnprovenDeletion } from "#core/node-lifecycle/fleet-record.ts";
import { ObjectReference, Reason } from "#core/reason.ts";

/** A JSON patch (RFC 6902) test. On an absent path, a test for null passes in kube-apiserver. */
export const TestOperation = z.strictObject({ op: z.literal("test"), path: z.string(), value: z.unknown() });
export type TestOperation = z.output<typeof TestOperation>;

/**
 * The JSON patch operations in decisions. `replace` is not used, because `add` does the same and fails less.
 */
export const PatchOperation = z.discriminatedUnion("op", [
  z.strictObject({ op: z.literal("add"), path: z.string(), value: z.unknown() }),
  z.strictObject({ op: z.literal("remove"), path: z.string() }),
]);
export type PatchOperation = z.output<typeof PatchOperation>;

/** The target of every write to the cluster: the resource and the object. */
const target = {
  on: z.literal("cluster"),
  /** `v1`, or group and version. */
  apiVersion: z.string().min(1),
  /** The plural name, as in paths and in RBAC. */
  resource: z.string().min(1),
  namespace: z.string().min(1).optional(),
  name: z.string().min(1),
};

const jsonPatch = {
  /** Sent before `patch`; the first test is always that of `/metadata/uid`. */
  precondition: z.tuple([TestOperation], TestOperation),
  patch: z.tuple([PatchOperation], PatchOperation),
};

/** The exact object: the write is rejected on another uid, or on another version if one is given. */
const Identity = z.strictObject({ uid: z.string().min(1), resourceVersion: z.string().min(1).optional() });

/** `precondition` and `patch` are sent as one JSON patch, which succeeds or fails as a whole. */
export const PatchWrite = z.strictObject({
  ...target,
  verb: z.literal("patch"),
  subresource: z.string().min(1).optional(),
  ...jsonPatch,
});
export type PatchWrite = z.output<typeof PatchWrite>;

/** A patch of the subresource `approval`, which has a separate permission for each signer. */
export const ApproveWrite = z.strictObject({ ...target, verb: z.literal("approve"), ...jsonPatch });
export type ApproveWrite = z.output<typeof ApproveWrite>;

/** `body` is the whole object; an existing object of that name is a conflict. */
export const CreateWrite = z.strictObject({
  ...target,
  verb: z.literal("create"),
  body: z.record(z.string(), z.unknown()),
  precondition: z.strictObject({ absent: z.literal(true) }),
});
export type CreateWrite = z.output<typeof CreateWrite>;

/** Replaces the whole object; uid and resourceVersion are part of the body. */
export const UpdateWrite = z.strictObject({
  ...target,
  verb: z.literal("update"),
  subresource: z.string().min(1).optional(),
  body: z.record(z.string(), z.unknown()),
  precondition: Identity.required(),
});
export type UpdateWrite = z.output<typeof UpdateWrite>;

/** The precondition is sent in the delete options. */
export const DeleteWrite = z.strictObject({ ...target, verb: z.literal("delete"), precondition: Identity });
export type DeleteWrite = z.output<typeof DeleteWrite>;

/** One write to one object of the cluster. The type does not allow a write without a precondition. */
export const ClusterWrite = z.discriminatedUnion("verb", [
  PatchWrite,
  ApproveWrite,
  CreateWrite,
  UpdateWrite,
  DeleteWrite,
]);
export type ClusterWrite = z.output<typeof ClusterWrite>;

/** An object that must not exist; with `having`, it may exist if one of these tests fails. */
const Absent = z.strictObject({
  apiVersion: z.string().min(1),
  resource: z.string().min(1),
  namespace: z.string().min(1).optional(),
  name: z.string().min(1),
  having: z.array(TestOperation).min(1).optional(),
});

/**
 * One action of a cloud capability. It does not use another action's result. Its precondition is about the
 * decision's object, which is read again before the action unless that happened within the last second. If
 * its uid, content or generation differs, or its deletion has begun, the round ends and the object is decided
 * again.
 */
export const CloudAction = z.strictObject({
  on: z.literal("cloud"),
  /** The capability of the cloud, such as `loadBalancers`. */
  capability: z.string().min(1),
  action: z.string().min(1),
  /** The target of the action, by the name under which observations find it. */
  target: z.string().min(1),
  parameters: z.record(z.string(), z.unknown()),
  precondition: z.strictObject({
    uid: z.string().min(1),
    generation: z.int().optional(),
    /**
     * The controller's `contentHash` of the object, including what this decision has written on it so far.
     */
    content: z.string().optional(),
    /** Whether the object was being deleted at the decision. */
    deleting: z.boolean(),
    /** An object that must not exist; always checked right before this action. */
    absent: Absent.optional(),
  }),
});
export type CloudAction = z.output<typeof CloudAction>;

/** A write to the cluster or an action of the cloud. */
export const Write = z.discriminatedUnion("on", [ClusterWrite, CloudAction]);
export type Write = z.output<typeof Write>;

/**
 * A Kubernetes Event to record, as data: a reason and code of the catalogue (`src/core/event-catalog.ts`) with
 * its facts. It contains no sentence; `code` is part of its name.
 */
export const ClusterEvent = z
  .strictObject({
    ...catalogEventFields,
    /** The object on which it is recorded, if not the decision's. */
    about: ObjectReference.optional(),
  })
  .refine(isCatalogEvent, { message: "no Event of the catalogue" });
export type ClusterEvent = z.output<typeof ClusterEvent>;

/**
 * What to do about one object, as data. `change` is an ordered list: a write runs only if the earlier ones
 * succeeded, and its Events are recorded after all of them. The next decision on the result is `unchanged`,
 * or the next `change` if the work takes several rounds.
 */
export const Decision = z.discriminatedUnion("kind", [
  z.strictObject({
    kind: z.literal("change"),
    object: ObjectReference,
    because: Reason,
    writes: z.tuple([Write], Write),
    /**
     * The writes are independent: they are sent together, and the failure of one does not stop the others.
     * `applyResult` gets the failures in its `done`, so only a controller with that function uses it.
     */
    independent: z.literal(true).optional(),
    events: z.array(ClusterEvent),
    /** What was left out and why, such as a cloud label that Kubernetes would reject. */
    warnings: z.array(Reason),
  }),
  /** No work of ours is left. */
  z.strictObject({ kind: z.literal("unchanged"), object: ObjectReference, because: Reason }),
  /** Nothing is done, although work may be left. */
  z.strictObject({ kind: z.literal("skip"), object: ObjectReference, because: Reason }),
  z.strictObject({
    kind: z.literal("retry"),
    object: ObjectReference,
    because: Reason,
    afterSeconds: z.number().min(0).max(600),
    events: z.array(ClusterEvent),
  }),
]);
export type Decision = z.output<typeof Decision>;

/** A decision that writes. */
export type Change = Extract<Decision, { readonly kind: "change" }>;

/**
 * The decisions on a batch: one for each object, in order; or one write that all objects wait for, after
 * which the batch is read and decided again.
 */
export type Plan =
  | { readonly kind: "each"; readonly decisions: readonly Decision[] }
  | {
      readonly kind: "shared";
      readonly because: Reason;
      readonly write: ClusterWrite;
      /**
       * The deletions that it announces without proof: the fleet brake, shared with other clusters, must
       * allow them first.
       */
      readonly unproven?: readonly UnprovenDeletion[];
    };
