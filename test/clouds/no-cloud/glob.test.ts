import { expect, test } from "vitest";
import { matchesGlob } from "#clouds/no-cloud/cloud.ts";

test.each<[string, string, boolean]>([
  ["rack-1-a", "rack-1-a", true],
  ["rack-1-a", "rack-1-b", false],
  ["rack-1", "rack-1-a", false],
  ["rack-1-a", "rack-1", false],
  ["*", "", true],
  ["*", "anything.example.com", true],
  ["", "", true],
  ["", "a", false],
  ["?", "", false],
  ["rack-?-a", "rack-1-a", true],
  ["rack-?-a", "rack-12-a", false],
  ["rack-*", "rack-", true],
  ["*.example.com", "a.b.example.com", true],
  ["*.example.com", "example.com", false],
  ["a*b*c", "a-b-b-c", true],
  ["a*b*c", "a-c-b", false],
  ["*ab", "aab", true],
  ["**a**", "bab", true],
  ["a.c", "abc", false],
])("%j and %j: %j", (pattern, text, expected) => {
  expect(matchesGlob(pattern, text)).toBe(expected);
});

test("a pattern that would hang a regular expression is matched fast", () => {
  expect(matchesGlob(`${"*a".repeat(120)}b`, "a".repeat(253))).toBe(false);
});
