import { findClustersFile } from "#cli/clusters/clusters-file.ts";
import type { ConfigurationFault } from "#cli/configuration-error.ts";
import { SET_BY_FLAGS } from "#cli/settings/controller-flags.ts";
import type { Environment } from "#clouds/provider.ts";

/**
 * The description of a relay's clusters: a file, or flags. `unread` is the file that the environment names
 * and that flags override.
 */
export type ClusterSource =
  | { readonly kind: "file"; readonly file: string }
  | { readonly kind: "flags"; readonly unread: string | undefined };

/** Flags that describe one cluster, and what replaces them in a clusters file. */
const ONE_CLUSTER: Readonly<Record<string, string>> = {
  "--cloud-provider": "cloud.provider of each entry",
  "--cloud-config": "cloud of each entry",
  "--cluster-name": "name of each entry",
  "--kubeconfig": "server and signIn.functions of each entry",
  "--relay-kubeconfig": "signIn.relay of each entry",
  "--controllers": "controllers of each entry",
  ...Object.fromEntries([...SET_BY_FLAGS].map(([name, key]) => [name, `${key} of each entry`])),
};

/**
 * Reads whether a file or flags describe the clusters; `given` are the flags on the command line, without
 * defaults.
 *
 * Flags win over the environment: `--kubeconfig` with $CLUSTERS_FILE means the one cluster that it reaches.
 * With `--clusters-file`, each flag for one cluster is a fault.
 */
export function selectClusterSource(
  clustersFile: string | undefined,
  given: ReadonlySet<string>,
  environment: Environment,
  faults: ConfigurationFault[],
): ClusterSource {
  const fromEnvironment = findClustersFile(undefined, environment);
  if (clustersFile === undefined && (given.has("--kubeconfig") || fromEnvironment === undefined))
    return { kind: "flags", unread: fromEnvironment };
  const [beside, instead] =
    clustersFile === undefined
      ? ["the clusters file that $CLUSTERS_FILE names", "; for one cluster give --kubeconfig, too"]
      : ["--clusters-file", ""];
  for (const [name, key] of Object.entries(ONE_CLUSTER)) {
    if (!given.has(name)) continue;
    const message = `describes one cluster, and cannot be combined with ${beside}: set ${key}${instead}`;
    faults.push({ name, message });
  }
  return { kind: "file", file: clustersFile ?? fromEnvironment ?? "" };
}
