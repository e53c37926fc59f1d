import * as fc from "fast-check";
import { expect, test } from "vitest";
import { formatJsonLine } from "#core/log-text.ts";
import { checkProperty } from "./check-property.ts";

test.each([
  ["plain", { a: [1, "é 🙂"] }, '{"a":[1,"é 🙂"]}'],
  ["ESC, BEL and a newline", "\u001B\u0007\n", '"\\u001b\\u0007\\n"'],
  ["DEL, and ESC [ in 8 bits", "\u007F\u009B", '"\\u007f\\u009b"'],
  ["separators and directions", "\u2028\u202E", '"\\u2028\\u202e"'],
  ["beyond the first plane", "\u{E0041}", '"\\udb40\\udc41"'],
  ["keys, too", { "\u009B": 1 }, '{"\\u009b":1}'],
])("%s", (_, value, expected) => {
  expect(formatJsonLine(value)).toBe(expected);
});

test("parses to an equal value and contains no terminal control characters", () => {
  checkProperty([fc.jsonValue({ stringUnit: "binary" })], (value) => {
    const line = formatJsonLine(value);
    expect(line).not.toMatch(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u);
    expect(JSON.parse(line)).toEqual(JSON.parse(JSON.stringify(value)));
  });
});
