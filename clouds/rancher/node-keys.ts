import { INSTANCE_TYPE_LABELS, REGION_LABELS, ZONE_LABELS } from "#core/contracts.ts";

/**
 * The distribution of the cluster: the prefix of its annotations and labels on nodes, and the scheme of its
 * provider IDs.
 */
export type Distribution = "k3s" | "rke2";

/** The keys that K3s and RKE2 agents write on their nodes, by the part before the slash. */
export const NODE_KEYS = ["internal-ip", "external-ip", "internal-dns", "external-dns", "hostname"] as const;
export type NodeKey = (typeof NODE_KEYS)[number];

/** Rancher's label with the uid of a node's Machine. */
export const MACHINE_LABEL = "rke.cattle.io/machine";

export function formatKey(distribution: Distribution, key: NodeKey): string {
  return `${distribution}.io/${key}`;
}

/** Labels of a node that its answer repeats. */
export const REPEATED_LABELS = {
  type: INSTANCE_TYPE_LABELS.stable,
  region: REGION_LABELS.stable,
  zone: ZONE_LABELS.stable,
};
