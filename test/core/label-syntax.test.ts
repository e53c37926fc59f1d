import { describe, expect, test } from "vitest";
import { checkLabelKey, checkLabelValue } from "#core/label-syntax.ts";

describe("a label key", () => {
  test.each([
    ["a name", "rack", undefined],
    ["a name with all that is allowed", "Rack_1.b-2", undefined],
    ["a prefix", "topology.k8s.aws/zone-id", undefined],
    ["the longest name", `a/${"n".repeat(63)}`, undefined],
    ["the longest prefix", `${"a.".repeat(126)}b/n`, undefined],
    ["an empty name", "example.com/", "name"],
    ["nothing", "", "name"],
    ["a name too long", "n".repeat(64), "name"],
    ["a name that starts with a dash", "-rack", "name"],
    ["a name that ends with a dot", "rack.", "name"],
    ["a space", "my rack", "name"],
    ["a line end", "rack\n", "name"],
    ["two slashes", "a/b/c", "name"],
    ["an empty prefix", "/rack", "prefix"],
    ["a prefix with capitals", "Example.com/rack", "prefix"],
    ["a prefix with two dots", "example..com/rack", "prefix"],
    ["a prefix with an underscore", "my_org/rack", "prefix"],
    ["a prefix too long", `${"a.".repeat(127)}b/n`, "prefix"],
  ])("%s", (_, key, fault) => {
    expect(checkLabelKey(key)).toEqual(fault && expect.stringContaining(`its ${fault} is not`));
  });
});

describe("a label value", () => {
  test.each([
    ["empty", "", true],
    ["one letter", "a", true],
    ["all that is allowed", "m7g.large_X-9", true],
    ["the longest", "v".repeat(63), true],
    ["too long", "v".repeat(64), false],
    ["a slash", "a/b", false],
    ["a space", "a b", false],
    ["a dash at the end", "a-", false],
    ["a dot alone", ".", false],
    ["an umlaut", "größe", false],
    ["a line end", "a\n", false],
  ])("%s", (_, value, good) => {
    expect(checkLabelValue(value) === undefined).toBe(good);
  });
});
