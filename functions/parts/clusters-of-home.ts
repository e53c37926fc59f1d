import type { ClustersOfHome } from "#config/home/home.ts";
import { openHome } from "#config/home/open-home.ts";

/** The clusters of the home that CLUSTERS_FILE names; all of it rejects where that is not set. */
export function clustersOfHome(reference: string | undefined): ClustersOfHome {
  if (reference !== undefined) return openHome(reference).byName();
  const reject = (): Promise<never> =>
    Promise.reject(new Error("CLUSTERS_FILE is not set: it names the YAML file of clusters"));
  return Object.assign(reject, { all: reject, named: reject, ahead: reject });
}
