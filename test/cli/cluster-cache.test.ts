import { expect, test } from "vitest";
import { type ClusterCache, createKeptPerCluster } from "#cli/run/function-resources.ts";
import type { Cluster } from "#config/cluster.ts";
import { createManualClock, waitUntilQuiet } from "#test/kube/follow/manual-clock.ts";

const cluster = (name: string, hash = "1") => ({ name, hash }) as Cluster;

interface World {
  readonly kept: ClusterCache<string>;
  readonly get: (name: string, key: string, hash?: string) => Promise<string>;
  readonly advance: (seconds: number) => Promise<void>;
  readonly made: string[];
  readonly discarded: string[];
}

function world(): World {
  const clock = createManualClock();
  const [made, discarded]: [string[], string[]] = [[], []];
  const kept = createKeptPerCluster<string>({
    idleMs: 60_000,
    clock,
    discard: async (value) => void discarded.push(value),
  });
  return {
    ...{ kept, made, discarded },
    get: (name, key, hash) =>
      kept.get(cluster(name, hash), key, async () => {
        const value = `${name}/${key}#${made.length}`;
        made.push(value);
        return value;
      }),
    advance: (seconds) => clock.advance(seconds * 1_000),
  };
}

test.each<[string, (world: World) => Promise<unknown>, { made: string[]; discarded: string[] }]>([
  [
    "makes one for each cluster and key",
    async ({ get }) => Promise.all([get("a", "x"), get("a", "x"), get("a", "y"), get("b", "x")]),
    { made: ["a/x#0", "a/y#1", "b/x#2"], discarded: [] },
  ],
  [
    "makes another one for a changed entry",
    async ({ get }) => Promise.all([get("a", "x", "1"), get("a", "x", "2")]),
    { made: ["a/x#0", "a/x#1"], discarded: [] },
  ],
  [
    "discards only what was not requested for a while",
    async ({ get, advance }) => {
      await Promise.all([get("a", "x"), get("b", "x")]);
      for (let turn = 0; turn < 6; turn += 1) {
        await advance(20);
        await get("b", "x");
      }
    },
    { made: ["a/x#0", "b/x#1"], discarded: ["a/x#0"] },
  ],
  [
    "discards all values of a forgotten cluster, and creates them again on request",
    async ({ get, kept }) => {
      await Promise.all([get("a", "x"), get("a", "y"), get("b", "x")]);
      await kept.forget("a");
      await get("a", "x");
    },
    { made: ["a/x#0", "a/y#1", "b/x#2", "a/x#3"], discarded: ["a/x#0", "a/y#1"] },
  ],
  [
    "discards everything in the end",
    async ({ get, kept }) => {
      await Promise.all([get("a", "x"), get("b", "x")]);
      await kept.close();
    },
    { made: ["a/x#0", "b/x#1"], discarded: ["a/x#0", "b/x#1"] },
  ],
])("%s", async (_, happens, { made, discarded }) => {
  const given = world();
  await happens(given);
  await waitUntilQuiet();
  expect([given.made, given.discarded]).toEqual([made, discarded]);
});

test("does not cache a failed creation", async () => {
  const { kept, get } = world();
  const failing = kept.get(cluster("a"), "x", () => Promise.reject(new Error("not signed in")));
  await expect(failing).rejects.toThrow("not signed in");
  expect(await get("a", "x")).toBe("a/x#0");
});
