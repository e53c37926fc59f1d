import * as z from "zod";

/** A Machine's reference to its node; null counts as absent, as in Kubernetes. */
const NodeRef = z.object({ name: z.string().min(1), uid: z.string().nullish() });

/**
 * A Cluster API Machine, reduced to the fields that identify its owner; these are equal in v1beta1 and
 * v1beta2.
 */
export const Machine = z.object({
  metadata: z.object({
    name: z.string().min(1),
    uid: z.string().min(1),
    deletionTimestamp: z.string().nullish(),
    labels: z.record(z.string(), z.string()).nullish(),
  }),
  spec: z.object({ clusterName: z.string() }),
  status: z.object({ nodeRef: NodeRef.nullish() }).nullish(),
});
export type Machine = z.output<typeof Machine>;

/** A page of a list. Items are parsed one by one, so that a fault names its item. */
export const MachinesPage = z.object({
  kind: z.literal("MachineList"),
  metadata: z.object({ continue: z.string().nullish() }),
  items: z.array(z.unknown()).nullish(),
});

/** The versions of an API group. */
export const ApiGroup = z.object({
  kind: z.literal("APIGroup"),
  preferredVersion: z.object({ version: z.string().regex(/^v\d{1,3}((alpha|beta)\d{1,3})?$/) }),
});

/** The label with a Machine's cluster. */
export const CLUSTER_LABEL = "cluster.x-k8s.io/cluster-name";
