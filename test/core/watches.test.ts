import { describe, expect, test } from "vitest";
import { findWatch, WATCHES } from "#core/watches.ts";

test("names and aliases are of one controller each", () => {
  const names = WATCHES.flatMap(({ name, aliases }) => [name, ...aliases]);
  expect(new Set(names).size).toBe(names.length);
});

describe.each(WATCHES.map(({ name }) => name))("%s", (name) => {
  test("is found by its name", () => {
    expect(findWatch(name)?.name).toBe(name);
  });
});

test("an unknown name finds nothing", () => {
  expect(findWatch("route")).toBeUndefined();
});

test("what the stock controller has is on by default", () => {
  expect(WATCHES.filter(({ onByDefault }) => onByDefault).map(({ name }) => name)).toEqual([
    "cloud-node-controller",
    "cloud-node-lifecycle-controller",
  ]);
});
