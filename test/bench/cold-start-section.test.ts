import { describe, expect, test } from "vitest";
import {
  type ColdStart,
  ColdStartResults,
  EMPTY_HANDLER,
  ONE_CLIENT,
  ONE_CLIENT_BY_DEFAULT,
  ONE_CLIENT_OF_MODULES,
} from "#bench/cold-start/measurement.ts";
import { formatColdStarts, getMedianRatio } from "#bench/cold-start/report.ts";

const start = (name: string, cpuMs: number[], sizes: Partial<ColdStart> = {}): ColdStart => ({
  name,
  wallMs: cpuMs.map((ms) => ms * 2),
  cpuMs,
  ...sizes,
});

const results = ColdStartResults.parse({
  startedAt: "2026-03-01T12:00:00.000Z",
  cpu: "a processor",
  cores: 2,
  node: "v24.0.0",
  loadAverage: 0.5,
  starts: [
    start(EMPTY_HANDLER, [10, 20, 10], { minifiedBytes: 130 }),
    start("node: its code", [30, 50, 30], { minifiedBytes: 536_900, zipBytes: 189_100 }),
    start(ONE_CLIENT, [20, 20, 20], { minifiedBytes: 322_000 }),
    start(ONE_CLIENT_OF_MODULES, [30, 30, 30], { minifiedBytes: 830_000 }),
    start(ONE_CLIENT_BY_DEFAULT, [60, 60, 60], { minifiedBytes: 1_480_000 }),
  ],
});

describe("the section of cold starts", () => {
  const lines = formatColdStarts(results).split("\n");

  test("has a row for each start: sizes, times with their ranges, ratios", () => {
    expect(lines).toContain("| node: its code | 537 | 189 | 60 (60–100) | 30 (30–50) | 3 | 1.5 | 1 | 0.5 |");
  });

  test("names the date, the machine and the number of rounds", () => {
    const paragraph = lines.join(" ");
    expect(paragraph).toContain("2026-03-01, Node v24.0.0 on 2 cores of a processor");
    expect(paragraph).toContain("3 rounds");
  });
});

test.each([
  ["round by round, whatever the machine did meanwhile", [10, 40], [5, 20], 2],
  ["by the median", [10, 10, 90], [10, 10, 10], 1],
  ["of no rounds not at all", [], [], undefined],
])("compares with another one, %s", (_, ms, otherMs, expected) => {
  expect(getMedianRatio(start("one", ms), start("other", otherMs))).toBe(expected);
});
