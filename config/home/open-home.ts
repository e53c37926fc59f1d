import { fileHome } from "#config/home/file.ts";
import type { ClusterHome } from "#config/home/home.ts";

/** The home that `--clusters-file` or CLUSTERS_FILE names. */
export function openHome(reference: string): ClusterHome {
  return fileHome(reference);
}
