import { cloudKindOf } from "#clouds/kinds.ts";
import { doClaimsAgree, doClaimsShareNetwork, type OwnershipClaim } from "#clouds/ownership-claim.ts";
import type { Cluster } from "#config/cluster.ts";
import type { ClustersFile, FaultyEntry } from "#config/clusters-file.ts";

/** What of a cluster says whose resources are its. */
type Configured = Pick<Cluster, "name" | "cloud">;

/** Lets one of several clusters be served whose clouds cannot be told apart. */
export interface OwnershipGuard {
  /**
   * Returns the content with entries made faulty whose cloud is that of another one. An entry that was served at the last call stays,
   * even while it is faulty; of the others the earlier one in the content.
   */
  hold(content: ClustersFile): ClustersFile;
}

interface Claimed {
  readonly name: string;
  readonly provider: string;
  readonly claim: OwnershipClaim;
}

/** A guard that has seen no content yet. It remembers one claim for each cluster that is served. */
export function createOwnershipGuard(): OwnershipGuard {
  let served: ReadonlyMap<string, Claimed> = new Map();
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

interface Settled {
  /** By name. */
  readonly held: ReadonlyMap<string, FaultyEntry>;
  /** What is served from now on, by name. */
  readonly claims: ReadonlyMap<string, Claimed>;
}

/** A cluster whose edited entry is held goes on as before, so that what it claimed then is nobody else's; that may hold others. */
function settle(content: ClustersFile, served: ReadonlyMap<string, Claimed>): Settled {
  const reserved = new Map(keptByFaulty(served, content).map((each) => [each.name, each]));
  for (;;) {
    const claims = createClaims([...reserved.values()]);
    const held = new Map<string, FaultyEntry>();
    for (const claimed of inPrecedence(content.clusters, served)) {
      const other = claims.find(claimed);
      if (other === undefined) claims.add(claimed);
      else held.set(claimed.name, heldEntry(claimed, other));
    }
    const further = [...held.keys()].flatMap((name) => (reserved.has(name) ? [] : (served.get(name) ?? [])));
    if (further.length === 0) return { held, claims: claims.all() };
    // Each round reserves a claim of another cluster.
    for (const each of further) reserved.set(each.name, each);
  }
}

/** Warnings about clusters of which one takes what carries no mark in a network that is another's, too; by the cluster's name. */
export function sharedNetworkWarnings(clusters: readonly Configured[]): ReadonlyMap<string, string> {
  const claimed = clusters.flatMap((cluster) => claimOf(cluster) ?? []);
  const byNetwork = Map.groupBy(claimed, ({ provider, claim }) => `${provider} ${claim.network?.value}`);
  const warnings = new Map<string, string>();
  for (const inNetwork of byNetwork.values())
    for (const one of inNetwork) {
      if (!one.claim.takesUnmarked || one.claim.network === undefined) continue;
      const other = inNetwork.find((each) => each !== one && doClaimsShareNetwork(one.claim, each.claim));
      if (other !== undefined) warnings.set(one.name, sharedNetwork(one, other));
    }
  return warnings;
}

/** Whether the cluster's name alone decides what of the cloud is its. */
export function isOwnershipByName({ name, cloud }: Configured): boolean {
  const marksOf = (clusterName: string): string =>
    JSON.stringify(cloudKindOf(cloud).ownership?.(cloud, clusterName)?.marks);
  return marksOf(name) !== marksOf(`${name}-`);
}

/** The claims of entries: what is served as it is, what was served otherwise, and new ones; each in the content's order. */
function inPrecedence(
  clusters: readonly Cluster[],
  served: ReadonlyMap<string, Claimed>,
): readonly Claimed[] {
  const rankOf = (claimed: Claimed): number => {
    const before = served.get(claimed.name);
    if (before === undefined) return 2;
    return JSON.stringify(before) === JSON.stringify(claimed) ? 0 : 1;
  };
  const claims = clusters.flatMap((cluster) => claimOf(cluster) ?? []);
  const ranked = Map.groupBy(claims, rankOf);
  return [0, 1, 2].flatMap((rank) => ranked.get(rank) ?? []);
}

/** What is served goes on while its entry is faulty, and all that is missing does while some faulty entry may be anybody's. */
function keptByFaulty(
  served: ReadonlyMap<string, Claimed>,
  { clusters, faulty }: ClustersFile,
): readonly Claimed[] {
  const named = new Set(clusters.map(({ name }) => name));
  const faultyNames = new Set(faulty.map(({ name }) => name));
  return [...served.values()].filter(
    ({ name }) => !named.has(name) && (faultyNames.has(name) || faultyNames.has(undefined)),
  );
}

/** Claims that are served, found by their marks. */
function createClaims(initial: readonly Claimed[]) {
  const byName = new Map<string, Claimed>();
  const byMark = new Map<string, Claimed[]>();
  const keyOf = ({ provider }: Claimed, mark: string): string => `${provider} ${mark}`;
  function add(claimed: Claimed): void {
    byName.set(claimed.name, claimed);
    for (const mark of claimed.claim.marks)
      byMark.set(keyOf(claimed, mark), [...(byMark.get(keyOf(claimed, mark)) ?? []), claimed]);
  }
  for (const each of initial) add(each);
  return {
    add,
    find: (claimed: Claimed): Claimed | undefined =>
      claimed.claim.marks
        .flatMap((mark) => byMark.get(keyOf(claimed, mark)) ?? [])
        .find(({ name, claim }) => name !== claimed.name && doClaimsAgree(claim, claimed.claim)),
    all: (): ReadonlyMap<string, Claimed> => byName,
  };
}

function claimOf({ name, cloud }: Configured): Claimed | undefined {
  const claim = cloudKindOf(cloud).ownership?.(cloud, name);
  return claim === undefined ? undefined : { name, provider: cloud.provider, claim };
}

function heldEntry({ name, claim }: Claimed, other: Claimed): FaultyEntry {
  const mark = claim.marks.find((each) => other.claim.marks.includes(each)) ?? "";
  const message = `${mark} in the ${claim.place} is that of cluster ${other.name}, which is served: this entry is held, as each would take the other's machines and load balancers for its own. Give both a network of their own, or this one another mark`;
  return {
    name,
    held: "SameOwnership",
    faults: [{ path: "cloud", subject: `cluster ${name}: cloud`, message }],
  };
}

function sharedNetwork({ claim }: Claimed, other: Claimed): string {
  return `cloud: machines in the network ${claim.network?.value} that carry no cluster's mark count as this cluster's, and cluster ${other.name} is in that network, too; give both a mark or a network of their own`;
}
