import { namedClustersFile } from "#cli/clusters-file.ts";
import type { ConfigurationFault } from "#cli/configuration-error.ts";
import type { Environment } from "#clouds/kind.ts";

/** Where a relay's clusters are described: in a file, or by flags, in spite of `unread` where the environment names one. */
export type ClusterSource =
  | { readonly kind: "file"; readonly file: string }
  | { readonly kind: "flags"; readonly unread: string | undefined };

/** Flags that describe one cluster, as a clusters file does each of its own, and what does so there. */
const ONE_CLUSTER: Readonly<Record<string, string>> = {
  "--cloud-provider": "cloud.provider of each entry",
  "--cloud-config": "cloud of each entry",
  "--cluster-name": "name of each entry",
  "--kubeconfig": "server and signIn.functions of each entry",
  "--relay-kubeconfig": "signIn.relay of each entry",
  "--controllers": "controllers of each entry",
  "--node-monitor-period": "nodes.monitorSeconds of each entry",
  "--node-deletion-grace": "nodes.deletion.graceSeconds of each entry",
  "--delete-nodes": "nodes.deletion.enabled of each entry",
  "--delete-unseen-nodes": "nodes.deletion.unseen of each entry",
  "--delete-orphaned-load-balancers": "loadBalancers.deleteOrphaned of each entry",
  "--load-balancers-max": "loadBalancers.max of each entry",
  "--configure-cloud-routes": "routes.configure of each entry",
  "--cluster-cidr": "routes.clusterCIDRs of each entry",
  "--route-reconciliation-period": "routes.reconciliationSeconds of each entry",
  "--tags": "tagging.tags of each entry",
  "--resources": "tagging.resources of each entry",
};

/**
 * Reads whether a file or flags describe the clusters; `given` are the flags of the command line, defaults aside. Flags win over the
 * environment: `--kubeconfig` beside $CLUSTERS_FILE means the one cluster that it reaches. Beside a clusters file, flags for one
 * cluster are faults, each by its name.
 */
export function clusterSourceOf(
  clustersFile: string | undefined,
  given: ReadonlySet<string>,
  environment: Environment,
  faults: ConfigurationFault[],
): ClusterSource {
  const fromEnvironment = namedClustersFile(undefined, environment);
  if (clustersFile === undefined && (given.has("--kubeconfig") || fromEnvironment === undefined))
    return { kind: "flags", unread: fromEnvironment };
  const [beside, instead] =
    clustersFile === undefined
      ? ["the clusters file that $CLUSTERS_FILE names", "; for one cluster give --kubeconfig, too"]
      : ["--clusters-file", ""];
  for (const [name, key] of Object.entries(ONE_CLUSTER)) {
    if (!given.has(name)) continue;
    const message = `describes one cluster, and has no place beside ${beside}: there it is ${key}${instead}`;
    faults.push({ name, message });
  }
  return { kind: "file", file: clustersFile ?? fromEnvironment ?? "" };
}
