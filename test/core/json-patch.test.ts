import { describe, expect, test } from "vitest";
import { NO_EDIT, pointer, setEntries } from "#core/json-patch.ts";

test.each([
  ["the whole", [], ""],
  ["a member", ["spec", "providerID"], "/spec/providerID"],
  ["an element", ["spec", "taints", 2, "key"], "/spec/taints/2/key"],
  ["a name with a slash", ["topology.k8s.aws/zone-id"], "/topology.k8s.aws~1zone-id"],
  ["a name with a tilde", ["a~b"], "/a~0b"],
  ["a name that looks escaped", ["a~1b"], "/a~01b"],
])("a pointer to %s", (_, segments, expected) => {
  expect(pointer(...segments)).toBe(expected);
});

describe("entries of a map", () => {
  const tests = [{ op: "test", path: "/map/a~1b", value: null }] as const;
  const entries = [{ key: "a/b", value: "1", tests }];

  test("are added one by one, each with its tests", () => {
    const operations = [{ op: "add", path: "/map/a~1b", value: "1" }];
    expect(setEntries("/map", true, entries)).toEqual({ tests, operations });
  });

  test("are added as a map where there is none", () => {
    const operations = [{ op: "add", path: "/map", value: { "a/b": "1" } }];
    expect(setEntries("/map", false, entries)).toEqual({
      tests: [{ op: "test", path: "/map", value: null }],
      operations,
    });
  });

  test.each([true, false])("that are none change nothing", (exists) => {
    expect(setEntries("/map", exists, [])).toBe(NO_EDIT);
  });
});
