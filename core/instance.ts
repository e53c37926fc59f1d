import * as z from "zod";
import { NodeAddress } from "#core/node/node.ts";

/** The life of an instance, in the words that all clouds are translated into. */
export const InstanceState = z.enum([
  "pending",
  "running",
  "stopping",
  "stopped",
  "shutting-down",
  "terminated",
]);
export type InstanceState = z.output<typeof InstanceState>;

/** What a cloud says of one instance: facts only, already checked to belong to the cluster. */
export const Instance = z.strictObject({
  /** The cloud's own id, such as `i-0123456789abcdef0`. */
  id: z.string().min(1),
  account: z.string(),
  network: z.string(),
  state: InstanceState,
  providerID: z.string().min(1),
  /** Instance type, zone and region; empty where the cloud has no such notion, and then no label is written. */
  type: z.string(),
  zone: z.string(),
  region: z.string(),
  /** In the order and spelling in which they are to stand in `status.addresses`. */
  addresses: z.array(NodeAddress),
  /** Labels beyond type, zone and region; never override a label that the node has. */
  labels: z.record(z.string(), z.string()),
  /** Annotations that the node is to have; never override one that says something. */
  annotations: z.record(z.string(), z.string()).optional(),
});
export type Instance = z.output<typeof Instance>;

/**
 * Why a cloud could not answer for a node. `Foreign` is an instance that is not (or not yet known to be) the cluster's;
 * `ForeignProviderID` has the scheme of another cloud, `InvalidProviderID` that of this one and names no instance; `InvalidAddress`
 * is what the node itself says of its addresses, and cannot be read. These and `Ambiguous` are about one node, and only somebody's
 * action mends them; `Denied` is the same for the whole account; the others pass by themselves.
 */
export const InstanceErrorCode = z.enum([
  "Foreign",
  "Ambiguous",
  "ForeignProviderID",
  "InvalidProviderID",
  "InvalidAddress",
  "Throttled",
  "Denied",
  "Unavailable",
  "Aborted",
]);
export type InstanceErrorCode = z.output<typeof InstanceErrorCode>;

/**
 * Of an instance that is gone: the id of one of the cluster's that has the name by which the node's machine is known by now. A
 * cloud that has successors, and cannot tell whether there is one, answers with an error.
 */
const takenOverBy = z.string().min(1).optional();

/** A proof that an absent instance was looked for in the right place: another one that the same pass showed, and where that is. */
export const PositiveControl = z.strictObject({
  id: z.string().min(1),
  /** As the annotations of nodes have them. What is absent or empty is unknown; so is a segment `-` of the network. */
  account: z.string().optional(),
  network: z.string().optional(),
  /** Absent where the clusters of a cloud span regions. */
  region: z.string().optional(),
});
export type PositiveControl = z.output<typeof PositiveControl>;

/**
 * The cloud's answer for one node. "not-found" is a positive statement of the cloud that it has no such instance;
 * whatever else went wrong is an error, and an error never deletes, taints or denies. A `message` is for the operator,
 * with all details; none of it reaches the cluster.
 */
export const InstanceAnswer = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("found"), instance: Instance, takenOverBy }),
  z.strictObject({
    kind: z.literal("not-found"),
    message: z.string(),
    /**
     * Another instance of the cluster, or of its configured network, that the same pass showed with the same credentials and in the
     * same region. Only where it was asked for. Recorded answers of earlier versions have its id alone, of which the place is unknown.
     */
    control: z
      .union([
        PositiveControl,
        z
          .string()
          .min(1)
          .transform((id): PositiveControl => ({ id })),
      ])
      .optional(),
    /**
     * The cloud's record of actions says that the instance was deleted through its API. Brakes do not count its node, like that of a
     * terminated instance; all else that a deletion takes is the same. Only where it was asked for a control.
     */
    deleted: z.literal(true).optional(),
    takenOverBy,
  }),
  z.strictObject({ kind: z.literal("error"), code: InstanceErrorCode, message: z.string() }),
]);
export type InstanceAnswer = z.output<typeof InstanceAnswer>;
