import { createAddressJudge, parseAllowedNetworks, selectAddressRules } from "#config/address-rules.ts";
import { parseAllowedSecrets } from "#config/registry/entry-references.ts";
import { openRegistry } from "#config/registry/open-registry.ts";
import type { RegistryClusters, RegistryKind } from "#config/registry/registry.ts";
import type { JudgeAddress } from "#kube/client/judged-lookup.ts";

/** The clusters that a deployed function knows. */
export interface DeployedClusters {
  readonly clusters: RegistryClusters;
  /** The addresses that their API servers may have. */
  readonly judgeAddress: JudgeAddress;
}

/** Opens the registry that CLUSTERS_FILE names; every read rejects if the variable is not set. */
export function openDeployedClusters(
  environment: Readonly<Record<string, string | undefined>>,
): DeployedClusters {
  const { CLUSTERS_FILE: reference, ALLOWED_NETWORKS: networks, ALLOWED_SECRETS: secrets = "" } = environment;
  if (reference === undefined) return { clusters: NO_HOME, judgeAddress: judgeAddresses(networks, "file") };
  const registry = openRegistry(reference, parseAllowedSecrets(secrets));
  return { clusters: registry.byName(), judgeAddress: judgeAddresses(networks, registry.kind) };
}

const reject = (): Promise<never> =>
  Promise.reject(
    new Error("CLUSTERS_FILE is not set: it names the file of clusters, or the path of their parameters"),
  );

const NO_HOME: RegistryClusters = Object.assign(reject, { all: reject, named: reject, ahead: reject });

/**
 * Returns the address rules of a deployed function from ALLOWED_NETWORKS. An invalid value allows no internal
 * address.
 */
function judgeAddresses(allowedNetworks: string | undefined, registry: RegistryKind): JudgeAddress {
  const parsed = allowedNetworks ? parseAllowedNetworks(allowedNetworks) : undefined;
  if (parsed?.kind !== "faults") return createAddressJudge(selectAddressRules(registry, parsed?.networks));
  const judge = createAddressJudge(selectAddressRules(registry, []));
  return (address) => {
    const because = judge(address);
    return because === undefined ? undefined : `${because}; ALLOWED_NETWORKS: ${parsed.faults.join("; ")}`;
  };
}
