import * as z from "zod";

/** A taint, verbatim: unknown fields are kept, because a precondition on it would otherwise never match. */
export const Taint = z.looseObject({ key: z.string(), effect: z.string(), value: z.string().optional() });
export type Taint = z.output<typeof Taint>;

/** An entry of `status.addresses`, verbatim. */
export const NodeAddress = z.looseObject({ type: z.string(), address: z.string() });
export type NodeAddress = z.output<typeof NodeAddress>;

/** A condition, with the fields that decisions read. */
export const NodeCondition = z.object({
  type: z.string(),
  status: z.string(),
  reason: z.string().optional(),
  /** Since when it has this status; the heartbeat time is not kept. */
  lastTransitionTime: z
    .string()
    .nullish()
    .transform((time) => time ?? undefined)
    .optional(),
});
export type NodeCondition = z.output<typeof NodeCondition>;

/**
 * A Node in Kubernetes' own shape, with the fields that decisions read. A whole node and its snapshot
 * (`projectNode`) both parse as this, and decisions on both are equal.
 */
export const Node = z.object({
  metadata: z.object({
    name: z.string().min(1).max(253),
    uid: z.string().min(1).max(128),
    resourceVersion: z.string().min(1),
    creationTimestamp: z.string().min(1),
    deletionTimestamp: z.string().optional(),
    labels: z.record(z.string(), z.string()).optional(),
    annotations: z.record(z.string(), z.string()).optional(),
  }),
  spec: z
    .object({
      providerID: z.string().optional(),
      taints: z.array(Taint).optional(),
      podCIDRs: z.array(z.string()).optional(),
    })
    .prefault({}),
  status: z
    .object({
      addresses: z.array(NodeAddress).optional(),
      conditions: z.array(NodeCondition).optional(),
    })
    .prefault({}),
});
export type Node = z.output<typeof Node>;
