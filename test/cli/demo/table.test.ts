import { describe, expect, test } from "vitest";
import { formatMs, formatTable, getPercentile } from "#cli/demo/table.ts";

describe("percentile", () => {
  test.each([
    [[1, 2, 3, 4], 0.5, 2],
    [[4, 3, 2, 1], 1, 4],
    [[5], 0.95, 5],
    [Array.from({ length: 100 }, (_, index) => index + 1), 0.95, 95],
  ])("of %j at %d is %d", (values, share, expected) => {
    expect(getPercentile(values, share)).toBe(expected);
  });

  test("of an empty list is not a number", () => {
    expect(getPercentile([], 0.5)).toBeNaN();
  });
});

test.each([
  [12.4, "12 ms"],
  [999.4, "999 ms"],
  [1_234, "1.23 s"],
])("%d ms reads as %s", (ms, expected) => {
  expect(formatMs(ms)).toBe(expected);
});

test("a table's first column is left-aligned and its others right-aligned", () => {
  const table = formatTable([
    ["", "n"],
    ["one", "1"],
    ["hundred", "100"],
  ]);
  expect(table.split("\n")).toEqual(["           n", "───────  ───", "one        1", "hundred  100"]);
});
