import { expect, test } from "vitest";
import { memoize, memoizeByKey } from "#clouds/http/memoize.ts";

test("calls a function once, even if its result is undefined", () => {
  const calls: string[] = [];
  const read = memoize((name: string) => void calls.push(name));
  expect([read("first"), read("second")]).toEqual([undefined, undefined]);
  expect(calls).toEqual(["first"]);
});

test("calls a function once for each key, with the arguments of the key's first call", () => {
  const calls: string[] = [];
  const read = memoizeByKey((key: string, suffix: string) => {
    calls.push(key + suffix);
    return calls.length;
  });
  expect([read("a", "1"), read("b", "1"), read("a", "2")]).toEqual([1, 2, 1]);
  expect(calls).toEqual(["a1", "b1"]);
});
