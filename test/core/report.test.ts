import { expect, test } from "vitest";
import { listFaults } from "#core/config-errors.ts";
import { Report } from "#core/report.ts";

const OBJECT = { index: 0, outcome: "changed", because: { code: "Initialized", message: "initialized" } };
const REPORT = {
  version: 1,
  id: "e-1",
  cluster: "tenant-a",
  controller: "cloud-node-controller",
  objects: [OBJECT],
  durations: { cloudMs: 12.5, clusterMs: 8, totalMs: 21 },
  usage: {
    cloud: { calls: { DescribeInstances: 1 }, throttled: 0, waitedMs: 0 },
    cluster: { writes: 2, reads: 0, conflicts: 0, throttled: 0, events: 1, eventsDropped: 0 },
  },
};

test("a report is parsed as written", () => {
  expect(Report.parse(JSON.parse(JSON.stringify(REPORT)))).toEqual(REPORT);
});

test.each([
  ["of another version", { version: 2 }, ["version"]],
  ["without objects", { objects: undefined }, ["objects"]],
  ["with an unknown outcome", { objects: [{ ...OBJECT, outcome: "deleted" }] }, ["objects[0].outcome"]],
  ["with a negative object index", { objects: [{ ...OBJECT, index: -1 }] }, ["objects[0].index"]],
  [
    "with a cause without a code",
    { objects: [{ ...OBJECT, because: { message: "" } }] },
    ["objects[0].because.code"],
  ],
])("a report %s is invalid", (_, difference, paths) => {
  const { error } = Report.safeParse({ ...REPORT, ...difference });
  expect(error && listFaults(error).map(({ path }) => path)).toEqual(paths);
});
