import { getCloudProvider } from "#clouds/providers.ts";
import type { Cluster } from "#config/cluster.ts";
import { listSharedNetworkWarnings } from "#config/ownership.ts";
import { NAMED_WATCHES, OPERATED_CONTROLLERS } from "#core/controllers.ts";
import { FUNCTION_IDENTITIES } from "#core/identities.ts";
import type { ControllerSettings } from "#core/settings.ts";

/**
 * Lists what is most likely a mistake in a cluster's entry but no fault, because a later version may know it;
 * one line each.
 */
export function listClusterWarnings(
  cluster: Pick<Cluster, "controllers" | "cloud" | "signIn" | keyof ControllerSettings>,
): readonly string[] {
  const { controllers, cloud, signIn } = cluster;
  const unknown = controllers.filter((each) => !NAMED_WATCHES.some(({ name }) => name === each));
  const known = NAMED_WATCHES.map(({ name }) => name).join(", ");
  return [
    ...unknown.map((name) => `controllers: this version knows no ${name}; it knows ${known}`),
    ...OPERATED_CONTROLLERS.flatMap(({ name, settingsCheck }) =>
      controllers.includes(name) && settingsCheck?.check(cluster).outcome === "warning"
        ? [settingsCheck.warning]
        : [],
    ),
    ...(FUNCTIONS.some((key) => signIn[key]?.kind === "minted-token") ? [MINTED] : []),
    ...(getCloudProvider(cloud).listConfigWarnings?.(cloud) ?? []).map((doubt) => `cloud.${doubt}`),
  ];
}

const FUNCTIONS = ["functions", ...FUNCTION_IDENTITIES] as const;
const MINTED =
  "signIn.functions: tokens are minted in the management cluster alone, and deployed functions cannot sign in; give them a way without a stored secret, such as eks or web-identity, in --cluster-defaults";

/** A likely mistake in the entry of a cluster, in one line. */
export interface ConfigurationWarning {
  readonly cluster: string;
  readonly message: string;
}

/** Returns the warnings about the clusters of a registry, including those about several clusters. */
export function listConfigurationWarnings(clusters: readonly Cluster[]): readonly ConfigurationWarning[] {
  const shared = listSharedNetworkWarnings(clusters);
  return clusters.flatMap((cluster) => {
    const ofNetwork = shared.get(cluster.name);
    const messages = [...listClusterWarnings(cluster), ...(ofNetwork === undefined ? [] : [ofNetwork])];
    return messages.map((message) => ({ cluster: cluster.name, message }));
  });
}

/** Formats a log line about the warnings, of which it names some; undefined without warnings. */
export function formatWarningLine(
  clusters: readonly Cluster[],
): Readonly<Record<string, unknown>> | undefined {
  const warnings = listConfigurationWarnings(clusters).map(
    ({ cluster, message }) => `cluster ${cluster}: ${message}`,
  );
  if (warnings.length === 0) return undefined;
  return {
    level: "warn",
    event: "ConfigurationDoubtful",
    count: warnings.length,
    doubts: warnings.slice(0, MAX_NAMED),
  };
}

/** A limit, because one unknown new region may affect eight hundred clusters. */
const MAX_NAMED = 10;
