import { describe, expect, test } from "vitest";
import { Cluster, getQuotaKey } from "#config/cluster.ts";
import type { ClustersFile } from "#config/clusters-file.ts";
import type { ClusterRegistry } from "#config/registry/registry.ts";
import { createInvocationLimiter } from "#relay/delivery/create-invocation-limiter.ts";
import type { InvocationEnd, InvocationPermit } from "#relay/delivery/invocation-limiter.ts";
import { createStaticMembership, type Membership } from "#relay/sharding/membership.ts";
import { createShardedRegistry, selectOwner } from "#relay/sharding/shard.ts";
import { createManualClock, type ManualClock } from "#test/kube/follow/manual-clock.ts";

const REPLICAS = ["relay-a", "relay-b", "relay-c"];
const FLOOR = 0.05;
const GOOD: InvocationEnd = {
  code: undefined,
  refused: false,
  settleMs: 0,
  durationMs: 100,
  usage: { calls: 5, throttled: 0, waitedMs: 0 },
};

const roleOf = (account: string): string => `arn:aws:iam::${account}:role/ccm`;
const clustersOf = (account: string, count: number): Cluster[] =>
  Array.from({ length: count }, (_, index) =>
    Cluster.parse({
      name: `tenant-${account}-${index}`,
      server: "https://127.0.0.1:1",
      cloud: { provider: "aws", region: "eu-central-1", vpc: "vpc-1", roleArn: roleOf(account) },
    }),
  );
const SHARED = clustersOf("123456789012", 30);
const LONELY = clustersOf("210987654321", 1);

function homeOf(content: ClustersFile): ClusterRegistry {
  const none = async () => [];
  return {
    kind: "file",
    name: "clusters.yaml",
    read: async () => content,
    follow: async () => {},
    byName: () => Object.assign(async () => undefined, { all: none, named: none, ahead: none }),
  };
}

/** A replica that has read the registry: its part of the accounts' quotas, and its clusters. */
async function start(membership: Membership, clock: ManualClock, clusters = [...SHARED, ...LONELY]) {
  const home = createShardedRegistry(homeOf({ clusters, faulty: [] }), membership, clock);
  const own = await home.read();
  return {
    home,
    own: own.clusters,
    gate: createInvocationLimiter({ clock, random: () => 0.5, partOf: home.partOf }),
  };
}
type Replica = Awaited<ReturnType<typeof start>>;

/** Takes as many permits as possible, once the functions are known to accept them. */
async function fill({ gate, own }: Replica, clock: ManualClock): Promise<readonly InvocationPermit[]> {
  const places: InvocationPermit[] = [];
  for (let tries = 0; tries < 200; tries += 1) {
    for (const cluster of own) {
      const waiter = (): void => {};
      const place = gate.enter(
        {
          controller: "cloud-node-controller",
          cluster: cluster.name,
          quotaKey: getQuotaKey(cluster),
          floorShare: FLOOR,
        },
        waiter,
      );
      gate.forget(waiter);
      if (place !== undefined) places.push(place);
    }
    await clock.advance(25);
  }
  return places;
}

/**
 * Returns the sum of the shares of all replicas' concurrent invocations, for an account with this many
 * clusters.
 */
async function spent(clusters: readonly Cluster[], replicas: readonly string[]) {
  const clock = createManualClock();
  const started = await Promise.all(
    replicas.map((name) => start(createStaticMembership(name, replicas), clock, [...clusters])),
  );
  // Each has had one at a time until now, so no earlier peak is remembered.
  const places = (await Promise.all(started.map((each) => fill(each, clock)))).flat();
  for (const place of places) place.ended(GOOD);
  return { shares: places.reduce((sum, { share }) => sum + share, 0), count: places.length };
}

describe("three replicas against one account", () => {
  test.each([
    { given: "with thirty clusters", clusters: SHARED },
    { given: "with three", clusters: SHARED.slice(0, 3) },
    { given: "with one", clusters: LONELY },
  ])("$given have as many in flight as a single replica", async ({ clusters }) => {
    const [alone, together] = [await spent(clusters, ["relay-a"]), await spent(clusters, REPLICAS)];
    // A single replica has a permit for each cluster, and twenty more.
    expect(alone.count).toBe(clusters.length + 20);
    // A part that is no whole number of floors is rounded down.
    expect(together.count).toBeLessThanOrEqual(alone.count);
    expect(together.count).toBeGreaterThan(alone.count - REPLICAS.length);
    expect(together.shares).toBeLessThanOrEqual(alone.shares + FLOOR * REPLICAS.length);
    expect(together.shares).toBeGreaterThanOrEqual(0.8 * alone.shares);
  });
});

describe("a replica's part of an account", () => {
  const parts = async (quotaKey: string, clusters?: Cluster[]): Promise<number[]> => {
    const clock = createManualClock();
    return Promise.all(
      REPLICAS.map(async (name) =>
        (await start(createStaticMembership(name, REPLICAS), clock, clusters)).home.partOf(quotaKey),
      ),
    );
  };
  const [shared, lonely] = [SHARED, LONELY].map(([cluster]) => (cluster ? getQuotaKey(cluster) : "")) as [
    string,
    string,
  ];

  test("is its part of the account's clusters, and the parts of all replicas add up to the whole", async () => {
    const counts = REPLICAS.map(
      (name) => SHARED.filter((cluster) => selectOwner(cluster.name, REPLICAS) === name).length,
    );
    expect(await parts(shared)).toEqual(counts.map((count) => count / SHARED.length));
  });

  test("is the whole if it has the account's only cluster, and nothing if another replica has it", async () => {
    expect((await parts(lonely)).toSorted()).toEqual([0, 0, 1]);
  });

  test("is equal for all if no entry names the account any more", async () => {
    expect(await parts(shared, LONELY)).toEqual([1 / 3, 1 / 3, 1 / 3]);
  });

  test("follows the live replicas, and is nothing before these are known", async () => {
    let replicas: readonly string[] | undefined;
    const membership: Membership = { ...createStaticMembership("relay-a", []), replicas: () => replicas };
    const { home, own } = await start(membership, createManualClock());
    expect(own).toEqual([]);
    expect(home.partOf(shared)).toBe(0);
    replicas = ["relay-a"];
    await home.read();
    expect(home.partOf(shared)).toBe(1);
    replicas = REPLICAS;
    await home.read();
    expect(home.partOf(shared)).toBe((await parts(shared))[0]);
  });
});

test("an invocation of a cluster that is kept until its new owner has listed it has the floor", async () => {
  const clock = createManualClock();
  let replicas = ["relay-a"];
  const membership: Membership = { ...createStaticMembership("relay-a", []), replicas: () => replicas };
  const replica = await start(membership, clock, LONELY);
  replicas = [selectOwner(LONELY[0]?.name ?? "", ["relay-b", "relay-c"]) ?? ""];
  const kept = (await replica.home.read()).clusters;
  const [place, ...more] = await fill({ ...replica, own: kept }, clock);
  expect([kept.length, place?.share, more.length]).toEqual([1, FLOOR, 0]);
});
