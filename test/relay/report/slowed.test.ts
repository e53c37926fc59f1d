import { expect, test } from "vitest";
import { notFollowed } from "#relay/followed-cluster.ts";
import { clustersPage, readinessOf } from "#relay/report/readiness.ts";
import { withSlowed } from "#relay/report/slowed.ts";

const followed = (name: string) => ({
  ...notFollowed(name, { code: "x", message: "x" }),
  ready: true,
  failure: undefined,
  configurationFault: undefined,
});

test.each([
  { slowed: [], page: "red ok\nblue ok\n" },
  { slowed: ["red"], page: /^red limited: unresponsive: its invocations are slow.*\nblue ok\n$/ },
])("of the clusters red and blue, $slowed are said to be slow", ({ slowed, page }) => {
  const status = withSlowed(
    () => [followed("red"), followed("blue")],
    () => ({ slowedClusters: slowed }),
  );
  const { text } = clustersPage(status());
  if (typeof page === "string") expect(text).toBe(page);
  else expect(text).toMatch(page);
  // Nothing of it is left out.
  expect(status().map((each) => readinessOf(each).status)).toEqual([200, 200]);
});
