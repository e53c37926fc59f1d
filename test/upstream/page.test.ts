import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { buildPageLine, PAGE, parsePageLines, replacePageLines } from "#test/upstream/page.ts";
import type { UpstreamSuite } from "#test/upstream/suite.ts";
import { SUITES } from "#test/upstream/suites.ts";

const page = await readFile(PAGE, "utf8");

test("the page has a line for each suite, with the version that it tests", () => {
  const lines = parsePageLines(page).map(({ suite, source, command }) => ({ suite, source, command }));
  const expected = SUITES.map((suite) => {
    const { suite: name, source, command } = buildPageLine(suite, NOTHING, new Date());
    return { suite: name, source, command };
  });
  expect(lines, "repeat the suites with npm run test:upstream -- --write-page").toEqual(expected);
});

test("every line of the page is the result of a run", () => {
  for (const { counts, date } of parsePageLines(page)) {
    expect(counts.map(Number).reduce((sum, count) => sum + count)).toBeGreaterThan(0);
    expect(date).toMatch(/^\d{4}-\d{2}-\d{2}$/);
  }
});

test("a run replaces the lines of its suites alone", () => {
  const first = { ...SUITE, name: "first" };
  const second = { ...SUITE, name: "second" };
  const lines = [first, second].map((suite) => buildPageLine(suite, NOTHING, new Date("2026-01-31")));
  const both = replacePageLines(page, lines, ["first", "second"]);
  expect(parsePageLines(both)).toEqual(lines);
  const later = buildPageLine(first, { ...NOTHING, passed: 3, explained: 1 }, new Date("2026-02-01"));
  expect(later.counts).toEqual(["3", "1", "0"]);
  const repeated = replacePageLines(both, [later], ["first", "second"]);
  expect(parsePageLines(repeated)).toEqual([later, lines[1]]);
  expect(replacePageLines(repeated, [], ["second"])).not.toContain("| first |");
});

const NOTHING = { passed: 0, explained: 0, notRunnable: 0, problems: [] };

const SUITE: UpstreamSuite = {
  ...{ name: "name", source: "k8s.io/kubernetes/test", version: "v1.36.3", needs: "Go" },
  run: async () => ({ kind: "missing", because: "no Go" }),
};
