import * as fc from "fast-check";
import { expect, test } from "vitest";
import { canonicalJson, hashOf } from "#core/hash.ts";
import { given } from "#test/core/given.ts";

test("a hash has 14 hexadecimal digits, and is the same for the same text", () => {
  given([fc.string()], (text) => {
    expect(hashOf(text)).toMatch(/^[0-9a-f]{14}$/);
    expect(hashOf(text)).toBe(hashOf(text));
  });
});

test("texts of one difference have no hash in common", () => {
  const texts = Array.from({ length: 10_000 }, (_, index) => `{"ports":[{"port":${index}}]}`);
  expect(new Set(texts.map(hashOf)).size).toBe(texts.length);
});

test("the hash of a text is the same in all versions", () => {
  expect([hashOf(""), hashOf("a")]).toMatchInlineSnapshot(`
    [
      "0d96711aee8d83",
      "124e8582c97901",
    ]
  `);
});

test.each([
  [{ b: 1, a: { d: [2, 1], c: null } }, '{"a":{"c":null,"d":[2,1]},"b":1}'],
  [[{ b: 1, a: 2 }], '[{"a":2,"b":1}]'],
  ["text", '"text"'],
])("the order of members does not matter: %j", (value, json) => {
  expect(canonicalJson(value)).toBe(json);
});
