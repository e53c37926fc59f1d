import { describe, expect, test } from "vitest";
import { fillBatch } from "#delivery/batch-event.ts";
import { type FillingBatch, getCloseDelayMs, type Linger, selectLinger } from "#relay/work/batches.ts";

describe("closesInMs", () => {
  const linger = { lingerMs: 50, quietMs: 5, busyMs: 100 };
  test.each([
    { given: "nothing is ready", ready: 0, closes: undefined },
    { given: "no slot is free", ready: 100, freeSlots: 0, closes: undefined },
    { given: "more is in flight than may be", ready: 1, freeSlots: -1, closes: undefined },
    { given: "it is full", ready: 100, closes: 0 },
    { given: "it is full, right after another one", ready: 100, closedMs: 999, closes: 0 },
    { given: "the last one came just now", ready: 2, closes: 5 },
    { given: "nothing came for a while", ready: 1, newestMs: 995, closes: 0 },
    { given: "something came all the time", ready: 9, oldestMs: 950, closes: 0 },
    { given: "it has lingered almost long enough", ready: 9, oldestMs: 952, closes: 2 },
    { given: "it grew while no slot was free", ready: 9, oldestMs: 0, newestMs: 500, closes: 0 },
    { given: "it began right after another one", ready: 1, closedMs: 901, closes: 50 },
    {
      given: "it began right after another one, and is quiet",
      ready: 1,
      oldestMs: 980,
      newestMs: 980,
      closedMs: 900,
      closes: 30,
    },
    { given: "it began a while after another one", ready: 1, closedMs: 900, closes: 5 },
    { given: "quotas are short", ready: 9, oldestMs: 950, closedMs: 900, spacingMs: 130, closes: 30 },
    { given: "it is full and quotas are short", ready: 100, closedMs: 999, spacingMs: 130, closes: 0 },
    { given: "it is the first and quotas are short", ready: 1, spacingMs: 130, closes: 5 },
  ])(
    "a batch of $given closes in $closes ms",
    ({ ready, freeSlots = 1, oldestMs = 1_000, newestMs = 1_000, closedMs, spacingMs = 0, closes }) => {
      const queue = { ready, freeSlots, oldestMs, newestMs, closedMs, spacingMs, nowMs: 1_000 };
      expect(getCloseDelayMs(queue, linger)).toBe(closes);
    },
  );

  test.each([
    { rate: 5, of: "nodes whose cloud is asked", batch: {}, most: 20 },
    { rate: 33, of: "nodes whose cloud is asked", batch: {}, most: 20 },
    { rate: 1_000, of: "nodes whose cloud is asked", batch: {}, most: 20 },
    { rate: 33, of: "nodes whose answers are there", batch: { asksCloud: false }, most: 33 },
    { rate: 1_000, of: "nodes whose answers are there", batch: { asksCloud: false }, most: 100 },
    { rate: 33, of: "nodes that are not Ready", batch: { monitors: true }, most: 1 },
    { rate: 1_000, of: "nodes that are not Ready", batch: { monitors: true }, most: 10 },
    { rate: 33, of: "resyncs", batch: { queue: "look" }, most: 0.5 },
  ] as const)("$rate $of a second make at most $most batches a second", ({ rate, batch, most }) => {
    expect(batchesOf(rate, 60, selectLinger({ ...ASKING, ...batch }))).toBeLessThanOrEqual(60 * most + 1);
  });

  test.each([5, 9])("of %i nodes a second delays no batch longer than the quiet time", (rate) => {
    expect(batchesOf(rate, 60, selectLinger(ASKING))).toBe(60 * rate);
  });
});

const ASKING: FillingBatch = { queue: "work", monitors: false, asksCloud: true };

/** Returns how many batches evenly arriving nodes make while a permit is always free. */
function batchesOf(perSecond: number, seconds: number, linger: Linger): number {
  let batches = 0;
  let closedMs: number | undefined;
  let open: { ready: number; oldestMs: number; newestMs: number } | undefined;
  for (let nowMs = 1; nowMs <= seconds * 1_000 + 100; nowMs += 1) {
    const arrived = Math.floor((nowMs * perSecond) / 1_000) - Math.floor(((nowMs - 1) * perSecond) / 1_000);
    if (arrived > 0 && nowMs <= seconds * 1_000) {
      open = { ready: (open?.ready ?? 0) + arrived, oldestMs: open?.oldestMs ?? nowMs, newestMs: nowMs };
    }
    if (
      open === undefined ||
      getCloseDelayMs({ ...open, closedMs, spacingMs: 0, freeSlots: 1, nowMs }, linger) !== 0
    )
      continue;
    batches += 1;
    closedMs = nowMs;
    open = undefined;
  }
  return batches;
}

describe("fillBatch", () => {
  const sized = (bytes: number) => ({ snapshot: "x".repeat(bytes - 2) });
  test.each([
    { given: "many small ones", sizes: Array(150).fill(100), objects: 100, tooLarge: 0 },
    { given: "one byte less than two fit in", sizes: [99_999, 99_999], objects: 2, tooLarge: 0 },
    { given: "one byte more than two fit in", sizes: [99_999, 100_000], objects: 1, tooLarge: 0 },
    { given: "a large one first", sizes: [300_000, 10], objects: 1, tooLarge: 0 },
    { given: "a large one later", sizes: [10, 300_000, 10], objects: 1, tooLarge: 0 },
    { given: "one that no event can carry", sizes: [10, 6_000_000, 10], objects: 2, tooLarge: 1 },
    { given: "nothing", sizes: [], objects: 0, tooLarge: 0 },
  ])("$given", ({ sizes, objects, tooLarge }) => {
    const batch = fillBatch(sizes.map(sized));
    expect([batch.objects.length, batch.tooLarge.length]).toEqual([objects, tooLarge]);
  });

  test("counts bytes, not characters", () => {
    const batch = fillBatch(Array.from({ length: 2 }, () => ({ snapshot: "é".repeat(60_000) })));
    expect(batch.objects).toHaveLength(1);
  });
});
