import { cloudKindOf } from "#clouds/kinds.ts";
import type { Cluster } from "#config/cluster.ts";
import { sharedNetworkWarnings } from "#config/ownership.ts";
import { FUNCTION_IDENTITIES } from "#core/identities.ts";
import { taggingWatch } from "#core/tagging/watch.ts";
import { NAMED_WATCHES } from "#core/watches.ts";

/** What of a cluster's entry is no fault, as a later version may know it, and most likely a mistake; each in one line. */
export function doubtsOf({
  controllers,
  cloud,
  tagging,
  signIn,
}: Pick<Cluster, "controllers" | "cloud" | "tagging" | "signIn">): readonly string[] {
  const unknown = controllers.filter((each) => !NAMED_WATCHES.some(({ name }) => name === each));
  const known = NAMED_WATCHES.map(({ name }) => name).join(", ");
  return [
    ...unknown.map((name) => `controllers: this version knows no ${name}; it knows ${known}`),
    ...(controllers.includes(taggingWatch.name) && Object.keys(tagging.tags).length === 0 ? [NO_TAGS] : []),
    ...(FUNCTIONS.some((key) => signIn[key]?.kind === "minted-token") ? [MINTED] : []),
    ...(cloudKindOf(cloud).doubts?.(cloud) ?? []).map((doubt) => `cloud.${doubt}`),
  ];
}

const FUNCTIONS = ["functions", ...FUNCTION_IDENTITIES] as const;
const MINTED =
  "signIn.functions: tokens are minted in the management cluster alone, and deployed functions cannot sign in; give them a way without a stored secret, such as eks or web-identity, in --cluster-defaults";

const NO_TAGS = `tagging.tags: there are none, and the controller ${taggingWatch.name} does nothing without`;

/** What is most likely a mistake in the entry of a cluster, in one line. */
export interface ConfigurationWarning {
  readonly cluster: string;
  readonly message: string;
}

/** Returns the warnings about the clusters of a home, those about several of them included. */
export function configurationWarnings(clusters: readonly Cluster[]): readonly ConfigurationWarning[] {
  const shared = sharedNetworkWarnings(clusters);
  return clusters.flatMap((cluster) => {
    const ofNetwork = shared.get(cluster.name);
    const messages = [...doubtsOf(cluster), ...(ofNetwork === undefined ? [] : [ofNetwork])];
    return messages.map((message) => ({ cluster: cluster.name, message }));
  });
}

/** A line for the log about the doubts there are, some of them named; undefined where there are none. */
export function doubtLine(clusters: readonly Cluster[]): Readonly<Record<string, unknown>> | undefined {
  const doubts = configurationWarnings(clusters).map(
    ({ cluster, message }) => `cluster ${cluster}: ${message}`,
  );
  if (doubts.length === 0) return undefined;
  return {
    level: "warn",
    event: "ConfigurationDoubtful",
    count: doubts.length,
    doubts: doubts.slice(0, MAX_NAMED),
  };
}

/** A new region may be that of eight hundred clusters. */
const MAX_NAMED = 10;
