import { describe, expect, test } from "vitest";
import { judgeRows, listFirstCells } from "#test/upstream/judge-rows.ts";
import type { TestRow } from "#test/upstream/suite.ts";

const DOCUMENTED = new Set(["Retries"]);

const same: TestRow = { test: "a", stock: "passed", ours: "passed" };
const different: TestRow = { test: "b", stock: "passed", ours: "failed" };

describe("rows of an upstream suite", () => {
  test.each<
    [
      given: string,
      rows: TestRow[],
      counts: [passed: number, explained: number, notRunnable: number],
      problems: string[],
    ]
  >([
    ["equal results", [same], [1, 0, 0], []],
    ["a difference that a page explains", [{ ...different, explainedBy: "Retries" }], [0, 1, 0], []],
    ["a test that cannot run", [{ ...different, notRunnable: "it reads a cache of Go" }], [0, 0, 1], []],
    [
      "a difference without explanation",
      [same, different],
      [1, 0, 0],
      ["b: stock passed, ours failed: no documented difference explains it"],
    ],
    [
      "an explanation that no page has",
      [{ ...different, explainedBy: "Timers" }],
      [0, 0, 0],
      ['b: no page about differences has the row "Timers"'],
    ],
    [
      "an explanation of nothing",
      [{ ...same, explainedBy: "Retries" }],
      [0, 0, 0],
      ['a: does not differ: remove "Retries"'],
    ],
    ["no row", [], [0, 0, 0], ["no test ran"]],
    ["two rows of one test", [same, same], [2, 0, 0], ["a: has two rows"]],
  ])("counts %s", (_given, rows, [passed, explained, notRunnable], problems) => {
    expect(judgeRows(rows, DOCUMENTED)).toEqual({ passed, explained, notRunnable, problems });
  });
});

test("lists the first cells of a page's tables", () => {
  expect(
    listFirstCells("text\n\n| | stock |\n|---|---|\n| Retries | none |\n| Order of writes | one |"),
  ).toEqual(["Retries", "Order of writes"]);
});
