import { parseAllowedSecrets } from "#config/home/entry-references.ts";
import type { ClustersOfHome } from "#config/home/home.ts";
import { openHome } from "#config/home/open-home.ts";
import { judgeAddresses } from "#functions/parts/judge-addresses.ts";
import type { JudgeAddress } from "#kube/client/judged-lookup.ts";

/** What a deployed function knows of clusters. */
export interface DeployedClusters {
  readonly clusters: ClustersOfHome;
  /** Which addresses their API servers may have. */
  readonly judgeAddress: JudgeAddress;
}

/** The clusters of the home that CLUSTERS_FILE names; all of it rejects where that is not set. */
export function clustersOfHome(environment: Readonly<Record<string, string | undefined>>): DeployedClusters {
  const { CLUSTERS_FILE: reference, ALLOWED_NETWORKS: networks, ALLOWED_SECRETS: secrets = "" } = environment;
  if (reference === undefined) return { clusters: NO_HOME, judgeAddress: judgeAddresses(networks, "file") };
  const home = openHome(reference, parseAllowedSecrets(secrets));
  return { clusters: home.byName(), judgeAddress: judgeAddresses(networks, home.kind) };
}

const reject = (): Promise<never> =>
  Promise.reject(
    new Error("CLUSTERS_FILE is not set: it names the file of clusters, or the path of their parameters"),
  );

const NO_HOME: ClustersOfHome = Object.assign(reject, { all: reject, named: reject, ahead: reject });
