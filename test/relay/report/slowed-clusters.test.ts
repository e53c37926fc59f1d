import { expect, test } from "vitest";
import { createUnfollowedState, markSlowedClusters } from "#relay/cluster-state.ts";
import { buildClustersPage, describeReadiness } from "#relay/report/readiness.ts";

const followed = (name: string) => ({
  ...createUnfollowedState(name, { code: "x", message: "x" }),
  ready: true,
  failure: undefined,
  configurationFault: undefined,
});

test.each([
  { slowed: [], page: "red ok\nblue ok\n" },
  { slowed: ["red"], page: /^red limited: unresponsive: its invocations are slow.*\nblue ok\n$/ },
])("of the clusters red and blue, $slowed are reported as slow", ({ slowed, page }) => {
  const status = markSlowedClusters(
    () => [followed("red"), followed("blue")],
    () => ({ slowedClusters: slowed }),
  );
  const { text } = buildClustersPage(status());
  if (typeof page === "string") expect(text).toBe(page);
  else expect(text).toMatch(page);
  // No part of the cluster is left out.
  expect(status().map((each) => describeReadiness(each).status)).toEqual([200, 200]);
});
