import { expect, test } from "vitest";
import { createReaders } from "#relay/informer/related-side.ts";

test.each([
  { given: "no reader", sets: [], key: "a", readers: [] },
  { given: "who reads it", sets: [["x", ["a", "b"]]], key: "a", readers: ["x"] },
  { given: "no reader of another key", sets: [["x", ["b"]]], key: "a", readers: [] },
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
    given: "no former reader",
    sets: [
      ["x", ["a"]],
      ["x", ["b"]],
    ],
    key: "a",
    readers: [],
  },
  {
    given: "a reader of less than everything",
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
] as const)("a change affects $given", ({ sets, key, readers }) => {
  const index = createReaders();
  for (const [uid, reads] of sets) index.set(uid, reads);
  expect([...index.find(key)].sort()).toEqual(readers);
});

test.each([{ reads: ["a", "b"] }, { reads: "all" as const }])(
  "a removed object reads nothing ($reads)",
  ({ reads }) => {
    const index = createReaders();
    index.set("x", reads);
    index.delete("x");
    index.delete("never there");
    expect([...index.find("a")]).toEqual([]);
  },
);
