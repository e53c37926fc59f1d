import { expect, test } from "vitest";
import { createMatcher } from "#emulators/ec2/wildcard.ts";

test.each([
  { pattern: "abc", matching: ["abc"], others: ["ab", "abcd", "ABC", ""] },
  { pattern: "*", matching: ["", "abc", "*"], others: [] },
  { pattern: "a*", matching: ["a", "abc"], others: ["", "ba"] },
  { pattern: "*c", matching: ["c", "abc", "cc"], others: ["", "ca"] },
  { pattern: "a*b*c", matching: ["abc", "axbxbxc"], others: ["acb", "ab"] },
  { pattern: "a?c", matching: ["abc", "a?c"], others: ["ac", "abbc"] },
  { pattern: "?", matching: ["a"], others: ["", "ab"] },
  { pattern: "*?", matching: ["a", "ab"], others: [""] },
  { pattern: "a\\*c", matching: ["a*c"], others: ["abc", "a\\*c"] },
  { pattern: "a\\?", matching: ["a?"], others: ["ab"] },
  { pattern: "a\\\\b", matching: ["a\\b"], others: ["ab"] },
  { pattern: "a\\", matching: ["a\\"], others: ["a"] },
  { pattern: "a.c", matching: ["a.c"], others: ["abc"] },
])("the filter value $pattern", ({ pattern, matching, others }) => {
  const matches = createMatcher(pattern);
  expect(matching.filter((text) => !matches(text))).toEqual([]);
  expect(others.filter(matches)).toEqual([]);
});

test("a filter value full of asterisks takes at most length times length steps", () => {
  const matches = createMatcher(`${"a*".repeat(120)}b`);
  expect(matches("a".repeat(20_000))).toBe(false);
});
