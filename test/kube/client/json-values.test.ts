import { describe, expect, test } from "vitest";
import { hasMoreValues } from "#kube/client/json-values.ts";

const bytes = (text: string, offset = 0): Uint8Array =>
  Buffer.from(`${"x".repeat(offset)}${text}`).subarray(offset);

describe("hasMoreValues", () => {
  test.each([
    { given: "empty objects", text: `[${"{},".repeat(100_000)}{}]`, max: 150_000, more: true },
    { given: "empty objects, few enough", text: `[${"{},".repeat(100_000)}{}]`, max: 210_000, more: false },
    {
      given: "arrays within arrays",
      text: `${"[".repeat(200_000)}${"]".repeat(200_000)}`,
      max: 150_000,
      more: true,
    },
    { given: "numbers", text: `[${"0,".repeat(200_000)}0]`, max: 150_000, more: true },
    { given: "long strings", text: `["${"x".repeat(1_000_000)}"]`, max: 10, more: false },
    { given: "nothing", text: "", max: 0, more: false },
  ])("$given", ({ text, max, more }) => {
    expect([0, 1].map((offset) => hasMoreValues(bytes(text, offset), max))).toEqual([more, more]);
  });

  test("a text with no more separators than allowed values is never refused, at any memory address", () => {
    for (let signs = 1; signs < 40; signs += 1) {
      const text = "{".repeat(signs).padEnd(100, "x");
      for (const offset of [0, 1]) {
        expect(hasMoreValues(bytes(text, offset), signs + 2)).toBe(false);
        expect(hasMoreValues(bytes(text, offset), signs - 1)).toBe(true);
      }
    }
  });
});
