import { doClaimsAgree, doClaimsShareNetwork, type OwnershipClaim } from "#clouds/ownership-claim.ts";
import { getCloudProvider } from "#clouds/providers.ts";
import type { Cluster } from "#config/cluster.ts";
import type { ClustersFile, FaultyEntry } from "#config/clusters-file.ts";

/** The fields of a cluster that decide which cloud resources it owns. */
type ConfiguredCluster = Pick<Cluster, "name" | "cloud">;

/** Prevents serving two clusters whose cloud resources cannot be told apart. */
export interface OwnershipGuard {
  /**
   * Returns the content with conflicting entries marked as faulty. A cluster served at the last call stays
   * served, even while its entry is faulty. Among the others, the earlier entry wins.
   */
  hold(content: ClustersFile): ClustersFile;
}

interface NamedClaim {
  readonly name: string;
  readonly provider: string;
  readonly claim: OwnershipClaim;
}

/** Creates a guard without history. It remembers one claim for each served cluster. */
export function createOwnershipGuard(): OwnershipGuard {
  let served: ReadonlyMap<string, NamedClaim> = new Map();
  return {
    hold(content) {
      const { held, claims } = settle(content, served);
      served = claims;
      if (held.size === 0) return content;
      const clusters = content.clusters.filter(({ name }) => !held.has(name));
      return { clusters, faulty: [...content.faulty, ...held.values()] };
    },
  };
}

interface SettledClaims {
  /** By name. */
  readonly held: ReadonlyMap<string, FaultyEntry>;
  /** Served from now on, by name. */
  readonly claims: ReadonlyMap<string, NamedClaim>;
}

/**
 * A cluster whose edited entry is held keeps its previous settings, and its previous claim stays reserved.
 * That may hold further entries.
 */
function settle(content: ClustersFile, served: ReadonlyMap<string, NamedClaim>): SettledClaims {
  const reserved = new Map(listClaimsOfFaulty(served, content).map((each) => [each.name, each]));
  for (;;) {
    const claims = createClaims([...reserved.values()]);
    const held = new Map<string, FaultyEntry>();
    for (const claimed of sortByPrecedence(content.clusters, served)) {
      const other = claims.find(claimed);
      if (other === undefined) claims.add(claimed);
      else held.set(claimed.name, buildHeldEntry(claimed, other));
    }
    const further = [...held.keys()].flatMap((name) => (reserved.has(name) ? [] : (served.get(name) ?? [])));
    if (further.length === 0) return { held, claims: claims.all() };
    // Each round reserves a claim of another cluster.
    for (const each of further) reserved.set(each.name, each);
  }
}

/**
 * Returns warnings about clusters that adopt untagged resources in a network that another cluster shares, by
 * cluster name.
 */
export function listSharedNetworkWarnings(
  clusters: readonly ConfiguredCluster[],
): ReadonlyMap<string, string> {
  const claimed = clusters.flatMap((cluster) => buildClaim(cluster) ?? []);
  const byNetwork = Map.groupBy(claimed, ({ provider, claim }) => `${provider} ${claim.network?.value}`);
  const warnings = new Map<string, string>();
  for (const inNetwork of byNetwork.values())
    for (const claimant of inNetwork) {
      if (!claimant.claim.takesUnmarked || claimant.claim.network === undefined) continue;
      const other = inNetwork.find(
        (each) => each !== claimant && doClaimsShareNetwork(claimant.claim, each.claim),
      );
      if (other !== undefined) warnings.set(claimant.name, describeSharedNetwork(claimant, other));
    }
  return warnings;
}

/** Whether only the cluster's name decides which cloud resources it owns. */
export function isOwnershipByName({ name, cloud }: ConfiguredCluster): boolean {
  const marksOf = (clusterName: string): string =>
    JSON.stringify(getCloudProvider(cloud).getOwnershipClaim?.(cloud, clusterName)?.marks);
  return marksOf(name) !== marksOf(`${name}-`);
}

/**
 * Sorts the claims of entries: unchanged ones, changed ones, then new ones, each in the order of the content.
 */
function sortByPrecedence(
  clusters: readonly Cluster[],
  served: ReadonlyMap<string, NamedClaim>,
): readonly NamedClaim[] {
  const rankOf = (claimed: NamedClaim): number => {
    const before = served.get(claimed.name);
    if (before === undefined) return 2;
    return JSON.stringify(before) === JSON.stringify(claimed) ? 0 : 1;
  };
  const claims = clusters.flatMap((cluster) => buildClaim(cluster) ?? []);
  const ranked = Map.groupBy(claims, rankOf);
  return [0, 1, 2].flatMap((rank) => ranked.get(rank) ?? []);
}

/**
 * A served cluster keeps its claim while its entry is faulty. All missing clusters keep theirs while some
 * faulty entry may belong to any of them.
 */
function listClaimsOfFaulty(
  served: ReadonlyMap<string, NamedClaim>,
  { clusters, faulty }: ClustersFile,
): readonly NamedClaim[] {
  const named = new Set(clusters.map(({ name }) => name));
  const faultyNames = new Set(faulty.map(({ name }) => name));
  return [...served.values()].filter(
    ({ name }) => !named.has(name) && (faultyNames.has(name) || faultyNames.has(undefined)),
  );
}

function createClaims(initial: readonly NamedClaim[]) {
  const byName = new Map<string, NamedClaim>();
  const byMark = new Map<string, NamedClaim[]>();
  const keyOf = ({ provider }: NamedClaim, mark: string): string => `${provider} ${mark}`;
  function add(claimed: NamedClaim): void {
    byName.set(claimed.name, claimed);
    for (const mark of claimed.claim.marks)
      byMark.set(keyOf(claimed, mark), [...(byMark.get(keyOf(claimed, mark)) ?? []), claimed]);
  }
  for (const each of initial) add(each);
  return {
    add,
    find: (claimed: NamedClaim): NamedClaim | undefined =>
      claimed.claim.marks
        .flatMap((mark) => byMark.get(keyOf(claimed, mark)) ?? [])
        .find(({ name, claim }) => name !== claimed.name && doClaimsAgree(claim, claimed.claim)),
    all: (): ReadonlyMap<string, NamedClaim> => byName,
  };
}

function buildClaim({ name, cloud }: ConfiguredCluster): NamedClaim | undefined {
  const claim = getCloudProvider(cloud).getOwnershipClaim?.(cloud, name);
  return claim === undefined ? undefined : { name, provider: cloud.provider, claim };
}

function buildHeldEntry({ name, claim }: NamedClaim, other: NamedClaim): FaultyEntry {
  const mark = claim.marks.find((each) => other.claim.marks.includes(each)) ?? "";
  const message = `${mark} in the ${claim.place} belongs to cluster ${other.name}, which is served: this entry is held, because each cluster would treat the other's machines and load balancers as its own. Configure a separate network for each, or another mark for this one`;
  return {
    name,
    held: "SameOwnership",
    faults: [{ path: "cloud", subject: `cluster ${name}: cloud`, message }],
  };
}

function describeSharedNetwork({ claim }: NamedClaim, other: NamedClaim): string {
  return `cloud: machines in the network ${claim.network?.value} that carry no cluster's mark count as this cluster's, and cluster ${other.name} is in that network, too; give both a mark or a network of their own`;
}
