import { expect, test } from "vitest";
import { createReaders } from "#relay/feed/readers.ts";

test.each([
  { given: "nobody", sets: [], key: "a", readers: [] },
  { given: "who reads it", sets: [["x", ["a", "b"]]], key: "a", readers: ["x"] },
  { given: "nobody who reads another", sets: [["x", ["b"]]], key: "a", readers: [] },
  {
    given: "who reads all",
    sets: [
      ["x", "all"],
      ["y", ["a"]],
    ],
    key: "a",
    readers: ["x", "y"],
  },
  {
    given: "nobody who reads it no more",
    sets: [
      ["x", ["a"]],
      ["x", ["b"]],
    ],
    key: "a",
    readers: [],
  },
  {
    given: "who reads less than all by now",
    sets: [
      ["x", "all"],
      ["x", ["a"]],
    ],
    key: "b",
    readers: [],
  },
  {
    given: "who reads it twice, once",
    sets: [
      ["x", ["a", "a"]],
      ["x", ["a", "a"]],
    ],
    key: "a",
    readers: ["x"],
  },
] as const)("a change concerns $given", ({ sets, key, readers }) => {
  const index = createReaders();
  for (const [uid, reads] of sets) index.set(uid, reads);
  expect([...index.of(key)].sort()).toEqual(readers);
});

test.each([{ reads: ["a", "b"] }, { reads: "all" as const }])(
  "one that is gone reads nothing ($reads)",
  ({ reads }) => {
    const index = createReaders();
    index.set("x", reads);
    index.delete("x");
    index.delete("never there");
    expect([...index.of("a")]).toEqual([]);
  },
);
