import * as z from "zod";
import { NodeAddress } from "#core/node/node.ts";

/** The state of an instance; every cloud's states are translated to these. */
export const InstanceState = z.enum([
  "pending",
  "running",
  "stopping",
  "stopped",
  "shutting-down",
  "terminated",
]);
export type InstanceState = z.output<typeof InstanceState>;

/** A cloud's facts about one instance, already checked to belong to the cluster. */
export const Instance = z.strictObject({
  /** The cloud's own ID, such as `i-0123456789abcdef0`. */
  id: z.string().min(1),
  account: z.string(),
  network: z.string(),
  state: InstanceState,
  providerID: z.string().min(1),
  /** Instance type, zone and region; empty if the cloud has no such notion, and then no label is written. */
  type: z.string(),
  zone: z.string(),
  region: z.string(),
  /** In the order and spelling for `status.addresses`. */
  addresses: z.array(NodeAddress),
  /** Labels beyond type, zone and region; they never override an existing label of the node. */
  labels: z.record(z.string(), z.string()),
  /** Annotations for the node; they never override a non-empty annotation. */
  annotations: z.record(z.string(), z.string()).optional(),
});
export type Instance = z.output<typeof Instance>;

/**
 * Why a cloud could not answer about a node. `Foreign`: the instance is not (or not yet known to be) the cluster's.
 * `ForeignProviderID` has the scheme of another cloud; `InvalidProviderID` has this cloud's scheme and names
 * no instance. `InvalidAddress`: an address that the node itself reports is unreadable. These and `Ambiguous`
 * concern one node, and a person must fix them. `Denied` concerns the whole account; the others are
 * temporary.
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
 * For an instance that is gone: the ID of a replacement instance in the cluster, which now has the node's
 * name. A cloud with replacement instances that cannot check for one answers with an error.
 */
const takenOverBy = z.string().min(1).optional();

/**
 * The visibility probe: another instance in the same answer, and its place. It proves that an absent instance
 * was looked up in the right place.
 */
export const VisibilityProbe = z.strictObject({
  id: z.string().min(1),
  /**
   * In the format of node annotations. An absent or empty value is unknown, as is a segment `-` of the
   * network.
   */
  account: z.string().optional(),
  network: z.string().optional(),
  /** Absent if the clusters of a cloud span regions. */
  region: z.string().optional(),
});
export type VisibilityProbe = z.output<typeof VisibilityProbe>;

/**
 * The cloud's answer about one node. "not-found" is the cloud's positive statement that the instance does not
 * exist. Every other failure is an error, and an error never deletes, taints or denies. A `message` contains
 * all details for the operator, and never reaches the cluster.
 */
export const InstanceAnswer = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("found"), instance: Instance, takenOverBy }),
  z.strictObject({
    kind: z.literal("not-found"),
    message: z.string(),
    /**
     * The visibility probe, if requested: another instance of the cluster, or of its configured network, with
     * equal credentials and region. Recorded answers of earlier versions contain only its ID, so its place is
     * unknown.
     */
    control: z
      .union([
        VisibilityProbe,
        z
          .string()
          .min(1)
          .transform((id): VisibilityProbe => ({ id })),
      ])
      .optional(),
    /**
     * The cloud's action log shows that the instance was deleted through its API. Brakes do not count its
     * node, as for a terminated instance; all other conditions of a deletion apply. Set only if a visibility
     * probe was requested.
     */
    deleted: z.literal(true).optional(),
    takenOverBy,
  }),
  z.strictObject({ kind: z.literal("error"), code: InstanceErrorCode, message: z.string() }),
]);
export type InstanceAnswer = z.output<typeof InstanceAnswer>;

/** How the look-up of nodes that join uses what was found before they joined. */
export type AheadMode =
  /** The nodes have not joined yet: what is found is kept for a short time. */
  | "keep"
  /** What was kept suffices. */
  | "use";
