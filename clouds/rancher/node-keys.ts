import { INSTANCE_TYPE_LABELS, REGION_LABELS, ZONE_LABELS } from "#core/contracts.ts";

/** What runs the cluster: the prefix of its annotations and labels on nodes, and the scheme of its provider IDs. */
export type Distribution = "k3s" | "rke2";

/** What K3s and RKE2 agents write on their nodes, by its place before the slash. */
export const NODE_KEYS = ["internal-ip", "external-ip", "internal-dns", "external-dns", "hostname"] as const;
export type NodeKey = (typeof NODE_KEYS)[number];

/** The label by which Rancher says which Machine a node is: its uid. */
export const MACHINE_LABEL = "rke.cattle.io/machine";

export function keyOf(distribution: Distribution, key: NodeKey): string {
  return `${distribution}.io/${key}`;
}

/** Of a node's own labels that its answer repeats. */
export const REPEATED_LABELS = {
  type: INSTANCE_TYPE_LABELS.stable,
  region: REGION_LABELS.stable,
  zone: ZONE_LABELS.stable,
};
