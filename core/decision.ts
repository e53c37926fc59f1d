import * as z from "zod";
import { isTold, told } from "#core/cluster-events.ts";
import type { UnprovenDeletion } from "#core/node-lifecycle/fleet-brake.ts";

/** Why something was decided: a stable code for machines, a sentence for people. */
export const Because = z.strictObject({ code: z.string().min(1), message: z.string() });
export type Because = z.output<typeof Because>;

/** The object that a decision or a report is about; `namespace` only where the resource has namespaces. */
export const ObjectReference = z.strictObject({
  apiVersion: z.string().min(1),
  kind: z.string().min(1),
  namespace: z.string().min(1).optional(),
  name: z.string().min(1),
  uid: z.string().min(1),
});
export type ObjectReference = z.output<typeof ObjectReference>;

/** A JSON patch (RFC 6902) test. On an absent path kube-apiserver lets a test of null pass. */
export const TestOperation = z.strictObject({ op: z.literal("test"), path: z.string(), value: z.unknown() });
export type TestOperation = z.output<typeof TestOperation>;

/** The JSON patch operations that decisions use; `replace` is left out, because `add` does the same and fails less. */
export const PatchOperation = z.discriminatedUnion("op", [
  z.strictObject({ op: z.literal("add"), path: z.string(), value: z.unknown() }),
  z.strictObject({ op: z.literal("remove"), path: z.string() }),
]);
export type PatchOperation = z.output<typeof PatchOperation>;

/** What every write to the cluster names: whose collection, and which object of it. */
const target = {
  on: z.literal("cluster"),
  /** `v1`, or group and version. */
  apiVersion: z.string().min(1),
  /** The plural, as in paths and in RBAC. */
  resource: z.string().min(1),
  namespace: z.string().min(1).optional(),
  name: z.string().min(1),
};

const jsonPatch = {
  /** Sent in front of `patch`; the first test is always that of `/metadata/uid`. */
  precondition: z.tuple([TestOperation], TestOperation),
  patch: z.tuple([PatchOperation], PatchOperation),
};

/** Which object exactly: of another life, or of a later version where that is named, the write is refused. */
const Identity = z.strictObject({ uid: z.string().min(1), resourceVersion: z.string().min(1).optional() });

/** `precondition` and `patch` are sent as one JSON patch, which holds or fails as a whole. */
export const PatchWrite = z.strictObject({
  ...target,
  verb: z.literal("patch"),
  subresource: z.string().min(1).optional(),
  ...jsonPatch,
});
export type PatchWrite = z.output<typeof PatchWrite>;

/** A patch of the subresource `approval`, which has a permission of its own for each signer. */
export const ApproveWrite = z.strictObject({ ...target, verb: z.literal("approve"), ...jsonPatch });
export type ApproveWrite = z.output<typeof ApproveWrite>;

/** `body` is the whole object; where one of that name is there already, that is a conflict. */
export const CreateWrite = z.strictObject({
  ...target,
  verb: z.literal("create"),
  body: z.record(z.string(), z.unknown()),
  precondition: z.strictObject({ absent: z.literal(true) }),
});
export type CreateWrite = z.output<typeof CreateWrite>;

/** Replaces the whole object; uid and resourceVersion go into the body that is sent. */
export const UpdateWrite = z.strictObject({
  ...target,
  verb: z.literal("update"),
  subresource: z.string().min(1).optional(),
  body: z.record(z.string(), z.unknown()),
  precondition: Identity.required(),
});
export type UpdateWrite = z.output<typeof UpdateWrite>;

/** Sent with the precondition in its options. */
export const DeleteWrite = z.strictObject({ ...target, verb: z.literal("delete"), precondition: Identity });
export type DeleteWrite = z.output<typeof DeleteWrite>;

/** One write to the cluster, of one object. A write without a precondition cannot be expressed. */
export const ClusterWrite = z.discriminatedUnion("verb", [
  PatchWrite,
  ApproveWrite,
  CreateWrite,
  UpdateWrite,
  DeleteWrite,
]);
export type ClusterWrite = z.output<typeof ClusterWrite>;

/** An object that must not be there; with `having` one may be of which something else than this is read. */
const Absent = z.strictObject({
  apiVersion: z.string().min(1),
  resource: z.string().min(1),
  namespace: z.string().min(1).optional(),
  name: z.string().min(1),
  having: z.array(TestOperation).min(1).optional(),
});

/**
 * One action of a capability of the cloud. It refers to no other action's result, and its precondition is about the object of
 * the decision: before an action that is read again, unless it was read within the last second. Where it is another object, has another
 * content or generation, or is being deleted where it was not, the round ends there and the object is decided on anew.
 */
export const CloudAction = z.strictObject({
  on: z.literal("cloud"),
  /** Which part of the cloud, such as `loadBalancers`. */
  capability: z.string().min(1),
  action: z.string().min(1),
  /** What is acted on, by the name under which observation finds it again. */
  target: z.string().min(1),
  parameters: z.record(z.string(), z.unknown()),
  precondition: z.strictObject({
    uid: z.string().min(1),
    generation: z.int().optional(),
    /** The controller's `contentHash` of the object, with all that this decision has written on it by then. */
    content: z.string().optional(),
    /** Whether it was being deleted when this was decided. */
    deleting: z.boolean(),
    /** An object that must not be there; it is looked for right before this action, whatever was read before others. */
    absent: Absent.optional(),
  }),
});
export type CloudAction = z.output<typeof CloudAction>;

/** What can be written. */
export const Write = z.discriminatedUnion("on", [ClusterWrite, CloudAction]);
export type Write = z.output<typeof Write>;

/**
 * A Kubernetes Event to be recorded, as a value: one of the catalogue (`core/cluster-events.ts`) with its facts. It holds no sentence, and
 * has no room for one; `code` goes into its name.
 */
export const ClusterEvent = z
  .strictObject({
    ...told,
    /** What it is recorded on, where that is not the object of the decision. */
    about: ObjectReference.optional(),
  })
  .refine(isTold, { message: "no Event of the catalogue" });
export type ClusterEvent = z.output<typeof ClusterEvent>;

/**
 * What to do about one object, as data. `change` is an ordered list: a later write runs only if the earlier ones
 * succeeded, and its events are recorded once all did. Deciding again on the result of a `change` gives `unchanged`, or for
 * what takes several rounds the next `change`.
 */
export const Decision = z.discriminatedUnion("kind", [
  z.strictObject({
    kind: z.literal("change"),
    object: ObjectReference,
    because: Because,
    writes: z.tuple([Write], Write),
    /**
     * Each write stands for itself: they are sent together, and one that fails keeps no other back. What failed is in the `done`
     * that `fold` gets, so only a controller that has it decides so.
     */
    independent: z.literal(true).optional(),
    events: z.array(ClusterEvent),
    /** What was left out and why, such as a cloud label that Kubernetes would refuse. */
    warnings: z.array(Because),
  }),
  /** Nothing of ours is left to do. */
  z.strictObject({ kind: z.literal("unchanged"), object: ObjectReference, because: Because }),
  /** Nothing is done, although something might be left. */
  z.strictObject({ kind: z.literal("skip"), object: ObjectReference, because: Because }),
  z.strictObject({
    kind: z.literal("retry"),
    object: ObjectReference,
    because: Because,
    afterSeconds: z.number().min(0).max(600),
    events: z.array(ClusterEvent),
  }),
]);
export type Decision = z.output<typeof Decision>;

/** A decision that writes. */
export type Change = Extract<Decision, { readonly kind: "change" }>;

/**
 * What is decided on a batch: one decision for each of its objects, in their order; or one write that all of them wait for,
 * after which the batch is read and decided on anew.
 */
export type Plan =
  | { readonly kind: "each"; readonly decisions: readonly Decision[] }
  | {
      readonly kind: "shared";
      readonly because: Because;
      readonly write: ClusterWrite;
      /** Deletions that it announces and that nothing proves: whatever they share with other clusters lets them first. */
      readonly unproven?: readonly UnprovenDeletion[];
    };
