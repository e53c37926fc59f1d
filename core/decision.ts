import * as z from "zod";

/** Why something was decided: a stable code for machines, a sentence for people. */
export const Because = z.strictObject({ code: z.string().min(1), message: z.string() });
export type Because = z.output<typeof Because>;

/** The object that a decision or a report is about. */
export const ObjectReference = z.strictObject({
  kind: z.literal("Node"),
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

/**
 * One write to the cluster. `precondition` and `patch` are sent as one JSON patch, tests first; a write without a
 * precondition cannot be expressed, and the first test is always that of `/metadata/uid`.
 */
export const ClusterWrite = z.strictObject({
  on: z.literal("cluster"),
  resource: z.literal("nodes"),
  subresource: z.literal("status").optional(),
  verb: z.literal("patch"),
  name: z.string().min(1),
  precondition: z.tuple([TestOperation], TestOperation),
  patch: z.tuple([PatchOperation], PatchOperation),
});
export type ClusterWrite = z.output<typeof ClusterWrite>;

/** What can be written. A union, so that writes to a cloud stand beside those to the cluster. */
export const Write = z.discriminatedUnion("on", [ClusterWrite]);
export type Write = z.output<typeof Write>;

/** A Kubernetes Event to be recorded on the object, as a value; `code` (not the message) goes into its name. */
export const ClusterEvent = z.strictObject({
  type: z.enum(["Normal", "Warning"]),
  reason: z.string().min(1).max(128),
  code: z.string().min(1),
  message: z.string().max(1024),
});
export type ClusterEvent = z.output<typeof ClusterEvent>;

/**
 * What to do about one object, as data. `change` is an ordered list: a later write runs only if the earlier ones
 * succeeded, and its events are recorded once all did. Deciding again on the result of a `change` gives `skip`.
 */
export const Decision = z.discriminatedUnion("kind", [
  z.strictObject({
    kind: z.literal("change"),
    object: ObjectReference,
    because: Because,
    writes: z.tuple([Write], Write),
    events: z.array(ClusterEvent),
    /** What was left out and why, such as a cloud label that Kubernetes would refuse. */
    warnings: z.array(Because),
  }),
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
