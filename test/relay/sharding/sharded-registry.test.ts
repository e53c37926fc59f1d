import { beforeEach, describe, expect, test } from "vitest";
import { Cluster } from "#config/cluster.ts";
import type { ClustersFile } from "#config/clusters-file.ts";
import type { ClusterRegistry, FollowRegistryOptions } from "#config/registry/registry.ts";
import type { Membership } from "#relay/sharding/membership.ts";
import {
  createShardedRegistry,
  OVERLAP_MS,
  type ShardedRegistry,
  selectOwner,
} from "#relay/sharding/shard.ts";
import { createManualClock, type ManualClock, waitUntilQuiet } from "#test/kube/follow/manual-clock.ts";

const NAMES = Array.from({ length: 12 }, (_, index) => `tenant-${index}`);
const FAULT = { path: "", message: "no server" };

const contentOf = (names: readonly string[], faulty: readonly (string | undefined)[] = []): ClustersFile => ({
  clusters: names.map((name) =>
    Cluster.parse({
      name,
      server: "https://127.0.0.1:1",
      cloud: { provider: "memory", instancesFile: "none.json" },
    }),
  ),
  faulty: faulty.map((name) => ({ name, faults: [FAULT] })),
});
const ownedBy = (self: string, replicas: readonly string[], names: readonly string[] = NAMES): string[] =>
  names.filter((name) => selectOwner(name, replicas) === self);
const namesOf = ({ clusters }: ClustersFile): string[] => clusters.map(({ name }) => name);

let clock: ManualClock;
let written: ClustersFile;
let following: FollowRegistryOptions;
let replicas: readonly string[] | undefined;
let listeners: Set<() => void>;
let contents: ClustersFile[];
let home: ShardedRegistry;
let stopping: AbortController;
let ended: Promise<void>;

beforeEach(() => {
  clock = createManualClock();
  written = contentOf(NAMES);
  listeners = new Set();
  contents = [];
  stopping = new AbortController();
});

/** Follows as replica `a`. */
async function follow(among: readonly string[] | undefined): Promise<void> {
  replicas = among;
  const inner: ClusterRegistry = {
    kind: "file",
    name: "clusters.yaml",
    read: async () => written,
    follow(options) {
      following = options;
      return new Promise((resolve) => options.signal.addEventListener("abort", () => resolve()));
    },
    byName: () => Object.assign(async () => written.clusters[0], NOT_ASKED),
  };
  const membership: Membership = {
    self: "a",
    replicas: () => replicas,
    isCutOff: () => false,
    onChange(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    leave: () => Promise.resolve(),
  };
  home = createShardedRegistry(inner, membership, clock);
  contents.push(await home.read());
  ended = home.follow({
    signal: stopping.signal,
    onContent: (content) => void contents.push(content),
    onError: () => {},
  });
}
const none = async () => [];
const NOT_ASKED = { all: none, named: none, ahead: none };

function change(...among: readonly string[]): void {
  replicas = among;
  for (const listener of listeners) listener();
}
const last = (): ClustersFile => contents.at(-1) ?? contentOf([]);

describe("the registry of a shard", () => {
  test("has this replica's own clusters, and the other replica's has the others", async () => {
    await follow(["a", "b", "c"]);
    expect(namesOf(last())).toEqual(ownedBy("a", ["a", "b", "c"]));
    following.onContent(contentOf([...NAMES, "tenant-x", "tenant-y"]));
    expect(namesOf(last())).toEqual(ownedBy("a", ["a", "b", "c"], [...NAMES, "tenant-x", "tenant-y"]));
    const shares = ["a", "b", "c"].map((self) => ownedBy(self, ["a", "b", "c"]));
    expect(shares.flat().toSorted()).toEqual(NAMES.toSorted());
    expect(home.count()).toEqual({ own: namesOf(last()).length, all: 14 });
  });

  test("is empty until the live replicas are known", async () => {
    await follow(undefined);
    expect([namesOf(last()), home.count()]).toEqual([[], { own: 0, all: 12 }]);
    change("a");
    expect(namesOf(last())).toEqual(NAMES);
  });

  test("takes over a lost replica's clusters at once", async () => {
    await follow(["a", "b", "c"]);
    change("a", "c");
    expect(namesOf(last())).toEqual(ownedBy("a", ["a", "c"]));
    expect(namesOf(last()).length).toBeGreaterThan(ownedBy("a", ["a", "b", "c"]).length);
  });

  test("keeps a cluster that moves to another replica until that one can have listed it", async () => {
    await follow(["a"]);
    change("a", "b");
    expect(namesOf(last())).toEqual(NAMES);
    expect(home.count().own).toBe(ownedBy("a", ["a", "b"]).length);
    await clock.advance(OVERLAP_MS - 1);
    expect(namesOf(last())).toEqual(NAMES);
    await clock.advance(1);
    expect(namesOf(last())).toEqual(ownedBy("a", ["a", "b"]));
  });

  test("keeps nothing that is removed from the source, and keeps for good what comes back", async () => {
    await follow(["a"]);
    change("a", "b");
    const [gone = "", back] = ownedBy("b", ["a", "b"]);
    following.onContent(contentOf(NAMES.filter((name) => name !== gone)));
    expect(namesOf(last())).not.toContain(gone);
    change("a");
    await clock.advance(OVERLAP_MS * 2);
    expect(namesOf(last())).toContain(back);
  });

  test("reports a faulty entry only to its owner, and one without a name to every replica", async () => {
    const [own = ""] = ownedBy("a", ["a", "b"]);
    const [foreign] = ownedBy("b", ["a", "b"]);
    written = contentOf([], [own, foreign, undefined]);
    await follow(["a", "b"]);
    expect(last().faulty.map(({ name }) => name)).toEqual([own, undefined]);
  });

  test("returns every cluster by its name", async () => {
    await follow(["b"]);
    expect(namesOf(last())).toEqual([]);
    expect((await home.byName()("tenant-0"))?.name).toBe("tenant-0");
  });

  test("reports nothing after it is closed", async () => {
    await follow(["a"]);
    change("a", "b");
    stopping.abort();
    await ended;
    const before = contents.length;
    change("a", "b", "c");
    await clock.advance(OVERLAP_MS * 2);
    await waitUntilQuiet();
    expect(contents.length).toBe(before);
    expect(listeners.size).toBe(0);
  });
});
