import { expect, test } from "vitest";
import { addClusterUsage, addUsage, NO_CLOUD_USAGE, NO_CLUSTER_USAGE } from "#core/report.ts";

test("adds the usage of two parts by operation", () => {
  const one = { calls: { DescribeInstances: 2 }, throttled: 1, waitedMs: 10 };
  const other = { calls: { DescribeInstances: 1, DescribeVpcs: 1 }, throttled: 0, waitedMs: 5 };
  expect(addUsage(one, other)).toEqual({
    calls: { DescribeInstances: 3, DescribeVpcs: 1 },
    throttled: 1,
    waitedMs: 15,
  });
  expect(addUsage(NO_CLOUD_USAGE, one)).toEqual(one);
  const usage = { writes: 1, reads: 2, conflicts: 3, throttled: 4, events: 5, eventsDropped: 6 };
  expect(addClusterUsage(usage, usage)).toEqual({
    ...{ writes: 2, reads: 4, conflicts: 6, throttled: 8, events: 10, eventsDropped: 12 },
  });
  expect(addClusterUsage(NO_CLUSTER_USAGE, usage)).toEqual(usage);
});
