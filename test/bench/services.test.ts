import { expect, test } from "vitest";
import { getTargetDelays } from "#bench/services/target-delays.ts";

const registered = (group: string, ids: readonly string[], atMs: number, code?: string) => ({
  name: "elbv2:RegisterTargets",
  form: {
    TargetGroupArn: group,
    ...Object.fromEntries(ids.flatMap((id, index) => [[`Targets.member.${index + 1}.Id`, id]])),
    ...Object.fromEntries(ids.map((_, index) => [`Targets.member.${index + 1}.Port`, "30080"])),
  },
  code,
  atMs,
});
const JOINED = new Map([
  ["i-a", 1_000],
  ["i-b", 2_000],
]);

test.each([
  ["nothing was called", [], []],
  ["each node in each group counts once", [registered("g", ["i-a", "i-b"], 3_000)], [1, 2]],
  ["another group counts anew", [registered("g", ["i-a"], 2_000), registered("h", ["i-a"], 3_000)], [1, 2]],
  ["the first call counts", [registered("g", ["i-a"], 2_000), registered("g", ["i-a"], 9_000)], [1]],
  ["ignores a failed call", [registered("g", ["i-a"], 2_000, "Throttling")], []],
  ["ignores an earlier node", [registered("g", ["i-z"], 2_000)], []],
  [
    "ignores another operation",
    [{ ...registered("g", ["i-a"], 2_000), name: "elbv2:DeregisterTargets" }],
    [],
  ],
] as const)("delays of targets: %s", (_, calls, expected) => {
  expect(getTargetDelays(calls, "elbv2:RegisterTargets", JOINED)).toEqual(expected);
});
