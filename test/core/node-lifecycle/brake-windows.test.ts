import { expect, test } from "vitest";
import { countBrakeWindows } from "#core/node-lifecycle/brake.ts";
import type { Deletion } from "#core/node-lifecycle/state.ts";
import { DEFAULT_SETTINGS } from "#core/settings.ts";

const NOW = new Date("2026-01-02T03:04:05Z");
const deletion = (minutesAgo: number, more: Partial<Deletion> = {}): Deletion => ({
  at: new Date(NOW.getTime() - minutesAgo * 60_000).toISOString(),
  clock: "a",
  nodes: 30,
  counted: true,
  ...more,
});

test.each<[string, readonly Deletion[], number, readonly [number, number], readonly [number, number]]>([
  ["no deletions", [], 30, [0, 6], [0, 10]],
  ["no deletions and no nodes", [], 0, [0, 1], [0, 0]],
  ["deletions of terminated instances do not count", [deletion(1, { counted: false })], 29, [0, 5], [0, 9]],
  [
    "percentages count the nodes from before the deletions",
    [deletion(1), deletion(2), deletion(60)],
    27,
    [2, 5],
    [3, 10],
  ],
  ["a window has a margin of two minutes for clocks", [deletion(11.9), deletion(12.1)], 28, [1, 5], [2, 10]],
])("the brake's windows: %s", (_, deletions, nodes, tenMinutes, day) => {
  const byUid = Object.fromEntries(deletions.map((each, index) => [String(index), each]));
  const windows = countBrakeWindows(byUid, { now: NOW, settings: DEFAULT_SETTINGS.nodes.deletion, nodes });
  expect([windows.tenMinutes, windows.day].map(({ deletions: all, most }) => [all, most])).toEqual([
    tenMinutes,
    day,
  ]);
});
