import { describe, expect, test } from "vitest";
import { closesInMs, fillBatch, LINGER_MS, QUIET_MS } from "#relay/batches.ts";

describe("closesInMs", () => {
  test.each([
    { given: "nothing is ready", ready: 0, closes: undefined },
    { given: "no slot is free", ready: 100, freeSlots: 0, closes: undefined },
    { given: "more is in flight than may be", ready: 1, freeSlots: -1, closes: undefined },
    { given: "it is full", ready: 100, closes: 0 },
    { given: "the last one came just now", ready: 2, closes: QUIET_MS },
    { given: "nothing came for a while", ready: 1, newestMs: 1_000 - QUIET_MS, closes: 0 },
    { given: "something came all the time", ready: 9, oldestMs: 1_000 - LINGER_MS, closes: 0 },
    { given: "it has lingered almost long enough", ready: 9, oldestMs: 1_002 - LINGER_MS, closes: 2 },
    { given: "it grew while no slot was free", ready: 9, oldestMs: 0, newestMs: 500, closes: 0 },
  ])(
    "a batch where $given closes in $closes ms",
    ({ ready, freeSlots = 1, oldestMs = 1_000, newestMs = 1_000, closes }) => {
      expect(closesInMs({ ready, freeSlots, oldestMs, newestMs, nowMs: 1_000 })).toBe(closes);
    },
  );
});

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
