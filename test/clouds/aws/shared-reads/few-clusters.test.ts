import { expect, test } from "vitest";
import { runFleet } from "#test/clouds/aws/shared-reads/fleet.ts";
import { createRandom } from "#test/faults/random.ts";
import { SEED } from "#test/seed.ts";

const SECONDS = 6;

/** The rate of the outage of 800 clusters in outage.test.ts, for a tenth of its time and its clusters. */
test("80 clusters of one account, with 2,000 nodes a minute, need half of EC2's quota", async () => {
  const result = await runFleet({
    ...{ clusters: 80, nodes: 200, waiting: 80, overMs: SECONDS * 1_000, shares: true },
    random: createRandom(SEED).next,
  });
  expect(result).toMatchObject({ initialized: 200, throttled: 0 });
  expect(result.calls["DescribeInstances"]).toBeLessThanOrEqual(50 + 10 * (SECONDS + 1));
  expect(result.calls["DescribeAvailabilityZones"]).toBe(1);
});
