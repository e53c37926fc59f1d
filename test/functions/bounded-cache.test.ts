import { afterEach, expect, test, vi } from "vitest";
import { createBoundedCache } from "#functions/parts/connection-cache.ts";

afterEach(() => vi.useRealTimers());

function cacheOf(limit: number) {
  const made: string[] = [];
  const discarded: string[] = [];
  const cache = createBoundedCache<string>({ most: limit }, async (value) => void discarded.push(value));
  const get = (key: string) =>
    cache.get(key, async () => {
      made.push(key);
      return key;
    });
  return { cache, get, made, discarded };
}

test("a value is made once", async () => {
  const { get, made } = cacheOf(2);
  expect(await Promise.all([get("a"), get("a")])).toEqual(["a", "a"]);
  expect(made).toEqual(["a"]);
});

test("beyond the limit the value that was not used for the longest time is discarded", async () => {
  const { get, made, discarded } = cacheOf(2);
  for (const key of ["a", "b", "a", "c", "a", "b"]) await get(key);
  expect(made).toEqual(["a", "b", "c", "b"]);
  expect(discarded).toEqual(["b", "c"]);
});

test("a failed creation is repeated", async () => {
  const { cache, get, discarded } = cacheOf(1);
  await expect(cache.get("a", () => Promise.reject(new Error("no")))).rejects.toThrow("no");
  expect(await get("a")).toBe("a");
  expect(discarded).toEqual([]);
});

test("a value that cannot be discarded does no harm", async () => {
  const cache = createBoundedCache<string>({ most: 1 }, () => Promise.reject(new Error("cannot be closed")));
  expect(await cache.get("a", async () => "a")).toBe("a");
  expect(await cache.get("b", async () => "b")).toBe("b");
});

test("a value that an invocation may still use is discarded later", async () => {
  vi.useFakeTimers();
  const discarded: string[] = [];
  const cache = createBoundedCache<string>({ most: 1, discardAfterMs: 60_000 }, async (value) => {
    discarded.push(value);
  });
  await cache.get("a", async () => "a");
  await cache.get("b", async () => "b");
  await vi.advanceTimersByTimeAsync(59_000);
  expect(discarded).toEqual([]);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(discarded).toEqual(["a"]);
});
