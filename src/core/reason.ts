import * as z from "zod";

/** The reason for a decision: a stable code for machines, a sentence for people. */
export const Reason = z.strictObject({ code: z.string().min(1), message: z.string() });
export type Reason = z.output<typeof Reason>;

/** The object of a decision or a report; `namespace` is set for namespaced resources only. */
export const ObjectReference = z.strictObject({
  apiVersion: z.string().min(1),
  kind: z.string().min(1),
  namespace: z.string().min(1).optional(),
  name: z.string().min(1),
  uid: z.string().min(1),
});
export type ObjectReference = z.output<typeof ObjectReference>;
