import fc from "fast-check";
import { expect, test } from "vitest";
import { createLookUpQueue } from "#clouds/aws/shared-reads/look-up-queue.ts";
import { SEED } from "#test/seed.ts";

const createQueue = (maxWaiting = 1_000) =>
  createLookUpQueue<string, string>({ maxIds: 200, maxWaiting, maxWaitMs: 10_000, now: () => 0 });

const idsOf = (cluster: string, count: number) =>
  Array.from({ length: count }, (_, index) => `${cluster}-${index}`);

/** Counts the ids of each cluster in a call. */
const countByCluster = (call: ReadonlyMap<string, unknown>) =>
  Object.fromEntries<number>(
    [...Map.groupBy(call.keys(), (id) => id.split("-")[0] ?? "")].map(([cluster, ids]) => [
      cluster,
      ids.length,
    ]),
  );

test.each([
  ["one cluster alone fills the call", { a: 300 }, [{ a: 200 }, { a: 100 }]],
  [
    "two large clusters halve it",
    { a: 300, b: 300 },
    [
      { a: 100, b: 100 },
      { a: 100, b: 100 },
    ],
  ],
  [
    "small look-ups go before a large one that came earlier",
    { a: 1, b: 900, c: 1, d: 30 },
    [{ a: 1, b: 100, c: 1, d: 30 }, { b: 200 }],
  ],
  [
    "the cluster that waits longest goes first, and afterwards last",
    { a: 500, b: 150, c: 150 },
    [{ a: 100, b: 100 }, { c: 100, b: 50, a: 50 }, { a: 100, c: 50 }, { a: 200 }],
  ],
])("%s", (_, waiting, calls) => {
  const queue = createQueue();
  for (const [cluster, count] of Object.entries(waiting)) queue.add(cluster, cluster, idsOf(cluster, count));
  expect(calls.map(() => countByCluster(queue.take()))).toEqual(calls);
});

test("no cluster waits for more calls than there are clusters, and each id is in one call", () => {
  const sizes = fc.array(fc.integer({ min: 1, max: 400 }), { minLength: 1, maxLength: 40 });
  const property = fc.property(sizes, (counts) => {
    const queue = createQueue();
    const left = new Map(counts.map((count, index) => [`c${index}`, count]));
    for (const [name, count] of left) queue.add(name, name, idsOf(name, count));
    const waits = new Map<string, number>();
    const taken = new Set<string>();
    while (!queue.isEmpty()) {
      const call = queue.take();
      const served = countByCluster(call);
      const isShared = Object.keys(served).length > 1;
      expect(call.size).toBeLessThanOrEqual(200);
      if (isShared) expect(Math.max(...Object.values(served))).toBeLessThanOrEqual(100);
      for (const id of call.keys()) taken.add(id);
      for (const [name, count] of left) {
        left.set(name, count - (served[name] ?? 0));
        waits.set(name, name in served || count === 0 ? 0 : (waits.get(name) ?? 0) + 1);
      }
      expect(Math.max(...waits.values())).toBeLessThan(counts.length);
    }
    expect([...left.values()].every((count) => count === 0)).toBe(true);
    expect(taken.size).toBe(counts.reduce((sum, count) => sum + count, 0));
  });
  fc.assert(property, { seed: SEED, numRuns: 50 });
});

test("rejects what exceeds a cluster's limit, and counts what waits only", () => {
  const queue = createQueue(200);
  expect(queue.add("a", "first", idsOf("a", 200))).toBe(true);
  expect(queue.add("a", "second", ["x"])).toBe(false);
  queue.take();
  expect(queue.add("a", "second", ["x"])).toBe(true);
  queue.remove("a", "second");
  expect(queue.isEmpty()).toBe(true);
});
