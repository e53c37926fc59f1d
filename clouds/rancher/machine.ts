import * as z from "zod";

/** A reference to a node as a Machine has it; what is null counts as absent, as in Kubernetes. */
const NodeRef = z.object({ name: z.string().min(1), uid: z.string().nullish() });

/** A Cluster API Machine, of which only what tells whose it is is read; v1beta1 and v1beta2 have the same here. */
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

/** A page of a list of them. Items are looked at one by one, as what is wrong with one is to be said of that one. */
export const MachinesPage = z.object({
  kind: z.literal("MachineList"),
  metadata: z.object({ continue: z.string().nullish() }),
  items: z.array(z.unknown()).nullish(),
});

/** What an API group is served in. */
export const ApiGroup = z.object({
  kind: z.literal("APIGroup"),
  preferredVersion: z.object({ version: z.string().regex(/^v\d{1,3}((alpha|beta)\d{1,3})?$/) }),
});

/** The label by which a Machine says which cluster it is of. */
export const CLUSTER_LABEL = "cluster.x-k8s.io/cluster-name";
