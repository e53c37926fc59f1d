import { createHash } from "node:crypto";
import { type Cluster, clusterFingerprint } from "#config/cluster.ts";

/** What relay and function compare before anything is written: 16 hexadecimal digits of a SHA-256 of the fingerprint. */
export function clusterHash(cluster: Cluster): string {
  return createHash("sha256").update(clusterFingerprint(cluster)).digest("hex").slice(0, 16);
}
