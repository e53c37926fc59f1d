import * as fc from "fast-check";
import { expect, test } from "vitest";
import { formatCanonicalJson, hashText } from "#core/hash.ts";
import { checkProperty } from "#test/core/check-property.ts";

test("a hash has 14 hexadecimal digits, and is equal for equal texts", () => {
  checkProperty([fc.string()], (text) => {
    expect(hashText(text)).toMatch(/^[0-9a-f]{14}$/);
    expect(hashText(text)).toBe(hashText(text));
  });
});

test("texts with one difference have different hashes", () => {
  const texts = Array.from({ length: 10_000 }, (_, index) => `{"ports":[{"port":${index}}]}`);
  expect(new Set(texts.map(hashText)).size).toBe(texts.length);
});

test("the hash of a text is stable across versions", () => {
  expect([hashText(""), hashText("a")]).toMatchInlineSnapshot(`
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
])("ignores the order of members: %j", (value, json) => {
  expect(formatCanonicalJson(value)).toBe(json);
});
