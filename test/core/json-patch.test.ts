import { describe, expect, test } from "vitest";
import {
  add,
  applyOperations,
  formatPointer,
  hasOtherValue,
  isApplied,
  isSameJson,
  NO_EDIT,
  remove,
  setEntries,
} from "#core/json-patch.ts";

test.each([
  ["the whole", [], ""],
  ["a member", ["spec", "providerID"], "/spec/providerID"],
  ["an element", ["spec", "taints", 2, "key"], "/spec/taints/2/key"],
  ["a name with a slash", ["topology.k8s.aws/zone-id"], "/topology.k8s.aws~1zone-id"],
  ["a name with a tilde", ["a~b"], "/a~0b"],
  ["a name that looks escaped", ["a~1b"], "/a~01b"],
])("a pointer to %s", (_, segments, expected) => {
  expect(formatPointer(...segments)).toBe(expected);
});

describe("entries of a map", () => {
  const tests = [{ op: "test", path: "/map/a~1b", value: null }] as const;
  const entries = [{ key: "a/b", value: "1", tests }];

  test("are added one by one, each with its tests", () => {
    const operations = [{ op: "add", path: "/map/a~1b", value: "1" }];
    expect(setEntries("/map", true, entries)).toEqual({ tests, operations });
  });

  test("are added as a map if the map is missing", () => {
    const operations = [{ op: "add", path: "/map", value: { "a/b": "1" } }];
    expect(setEntries("/map", false, entries)).toEqual({
      tests: [{ op: "test", path: "/map", value: null }],
      operations,
    });
  });

  test.each([true, false])("change nothing if the list is empty", (exists) => {
    expect(setEntries("/map", exists, [])).toBe(NO_EDIT);
  });
});

describe("applying operations", () => {
  const before = { a: { "b/c": 1, "d~e": [1, 2, 3] }, untouched: {} };

  test("adds and removes members and items, and shares unchanged parts", () => {
    const after = applyOperations(before, [
      add("/a/b~1c", 2),
      add("/a/new", null),
      add("/a/d~0e/-", 4),
      add("/a/d~0e/0", 0),
      remove("/a/d~0e/1"),
      add("/x", { y: 1 }),
      add("/x/z", 2),
    ]);
    expect(after).toEqual({
      a: { "b/c": 2, new: null, "d~e": [0, 2, 3, 4] },
      untouched: {},
      x: { y: 1, z: 2 },
    });
    expect(applyOperations(after, [remove("/x/z"), add("/a/d~0e/1", 1)])).toMatchObject({
      a: { "d~e": [0, 1, 2, 3, 4] },
      x: { y: 1 },
    });
    expect(after.untouched).toBe(before.untouched);
    expect(before.a["d~e"]).toEqual([1, 2, 3]);
  });

  test("reaches into items, and creates the map for an added entry", () => {
    expect(
      applyOperations({ list: [{ a: 1 }, { a: 2 }] }, [add("/list/1/a", 3), add("/map/key", "v")]),
    ).toEqual({
      list: [{ a: 1 }, { a: 3 }],
      map: { key: "v" },
    });
  });
});

describe("an applied patch", () => {
  const value = { metadata: { labels: { a: "b" } }, status: { addresses: [{ type: "x", address: "y" }] } };
  test.each([
    [
      "what stands there, in whatever order of members",
      [add("/status/addresses", [{ address: "y", type: "x" }])],
      true,
    ],
    ["removals beside it", [add("/metadata/labels/a", "b"), remove("/spec/taints/0")], true],
    ["another value", [add("/metadata/labels/a", "c")], false],
    ["something that is not there", [add("/metadata/annotations/a", "b")], false],
    ["a path through a text", [add("/metadata/labels/a/b", "b")], false],
    ["removals alone", [remove("/spec/taints/0")], false],
    ["nothing", [], false],
  ])("%s", (_, operations, expected) => {
    expect(isApplied(value, operations)).toBe(expected);
  });
});

test.each([
  [1, 1, true],
  [1, "1", false],
  [null, {}, false],
  [{}, null, false],
  [[], {}, false],
  [{ a: 1 }, { a: 1, b: 2 }, false],
  [{ a: 1 }, { b: 1 }, false],
  [{ a: [1, { b: null }] }, { a: [1, { b: null }] }, true],
  [[1, 2], [2, 1], false],
])("%j and %j are equal JSON: %s", (a, b, expected) => {
  expect(isSameJson(a, b)).toBe(expected);
});

test.each([
  ["something else", { a: { b: 1 } }, "/a/b", 2, true],
  ["the same", { a: { b: { c: [1] } } }, "/a/b", { c: [1] }, false],
  ["nothing, which proves nothing", { a: {} }, "/a/b", 2, false],
  ["nothing on the way", 7, "/a/b", 2, false],
  ["what every object has", { a: {} }, "/a/toString", 2, false],
])("a path that holds %s", (_, value, path, expected, differs) => {
  expect(hasOtherValue(value, path, expected)).toBe(differs);
});
