import { beforeEach, describe, expect, test } from "vitest";
import { createHeapTrimmer, type HeapTrimmer } from "#relay/trim-heap.ts";
import { createManualClock, type ManualClock } from "#test/kube/follow/manual-clock.ts";

describe("a heap trimmer", () => {
  let clock: ManualClock;
  let collections: number;
  let isBusy: boolean;
  let heap: HeapTrimmer;
  const collect = (): void => {
    collections += 1;
  };

  beforeEach(() => {
    clock = createManualClock();
    collections = 0;
    isBusy = false;
    heap = createHeapTrimmer({ clock, isBusy: () => isBusy, collect });
  });

  test("collects once after lists of many objects", async () => {
    for (let list = 0; list < 50; list += 1) {
      heap.listed(100);
      await clock.advance(100);
    }
    expect(collections).toBe(0);
    await clock.advance(10_000);
    expect(collections).toBe(1);
  });

  test("does not collect after a few objects", async () => {
    heap.listed(999);
    await clock.advance(600_000);
    expect(collections).toBe(0);
  });

  test("waits until no work is left", async () => {
    isBusy = true;
    heap.listed(5_000);
    await clock.advance(30_000);
    expect(collections).toBe(0);
    isBusy = false;
    await clock.advance(1_000);
    expect(collections).toBe(1);
  });

  test("collects at most once a minute", async () => {
    for (let second = 0; second < 180; second += 1) {
      heap.listed(5_000);
      await clock.advance(5_000);
    }
    expect(collections).toBeLessThanOrEqual(16);
    expect(collections).toBeGreaterThan(5);
  });

  test("collects although lists never end", async () => {
    for (let list = 0; list < 300; list += 1) {
      heap.listed(100);
      await clock.advance(500);
    }
    expect(collections).toBe(3);
  });

  test("collects nothing once closed", async () => {
    heap.listed(5_000);
    heap.close();
    await clock.advance(10_000);
    expect(collections).toBe(0);
  });
});

test("V8 collects in this process", async () => {
  const clock = createManualClock();
  const heap = createHeapTrimmer({ clock, isBusy: () => false });
  const garbage = new WeakRef({});
  await clock.advance(10);
  heap.listed(1_000);
  await clock.advance(2_000);
  expect(garbage.deref()).toBeUndefined();
});
