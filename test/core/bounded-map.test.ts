import { describe, expect, test } from "vitest";
import { createExpiringMap, setNewest } from "#core/bounded-map.ts";

describe("setNewest", () => {
  test("drops the oldest keys beyond the limit and returns their values", () => {
    const map = new Map([
      ["a", 1],
      ["b", 2],
    ]);
    expect(setNewest(map, "c", 3, 2)).toEqual([1]);
    expect(setNewest(map, "d", 4, 1)).toEqual([2, 3]);
    expect([...map]).toEqual([["d", 4]]);
  });

  test("renews a key that exists", () => {
    const map = new Map([
      ["a", 1],
      ["b", 2],
    ]);
    expect(setNewest(map, "a", 3, 2)).toEqual([]);
    expect([...map.keys()]).toEqual(["b", "a"]);
  });
});

describe("an expiring map", () => {
  test("forgets values after their time, and the oldest beyond its limit", () => {
    let nowMs = 0;
    const map = createExpiringMap<string, number>({ ttlMs: 10, limit: 2, now: () => nowMs });
    map.set("a", 1);
    nowMs = 5;
    map.set("b", 2);
    expect([map.has("a"), map.has("b"), map.has("c")]).toEqual([true, true, false]);
    nowMs = 10;
    expect([map.has("a"), map.has("b")]).toEqual([false, true]);
    expect(map.values()).toEqual([2]);
    map.set("c", 3);
    map.set("d", 4);
    expect(map.values()).toEqual([3, 4]);
    map.delete("c");
    expect(map.values()).toEqual([4]);
  });
});
