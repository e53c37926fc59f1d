import { expect, test } from "vitest";
import { type FleetOptions, runFleet } from "#test/clouds/aws/shared-reads/fleet.ts";
import { createRandom } from "#test/faults/random.ts";
import { SEED } from "#test/seed.ts";

const CLUSTERS = 800;
const NODES = 2_000;

/** Half of EC2's bucket of 100, and half of its 20 calls a second. */
const maxCalls = (seconds: number): number => 50 + 10 * seconds;

test.each<{ given: string; waiting: number; calls: number; slowestMs: number }>([
  { given: "one waits in each, the others join", waiting: CLUSTERS, calls: maxCalls(61), slowestMs: 5_000 },
  { given: "all wait", waiting: NODES, calls: 100, slowestMs: 5_000 },
])(
  "after an outage of 800 clusters of one account, 2,000 nodes in a minute are initialized without a throttled call: $given",
  async ({ waiting, calls, slowestMs }) => {
    const fleet: FleetOptions = {
      ...{ clusters: CLUSTERS, nodes: NODES, waiting, overMs: 60_000, shares: true },
      random: createRandom(SEED).next,
    };
    const result = await runFleet(fleet);
    console.log(JSON.stringify({ waiting, ...result }));
    expect(result).toMatchObject({ initialized: NODES, throttled: 0 });
    expect(result.calls["DescribeInstances"]).toBeLessThanOrEqual(calls);
    expect(result.calls["DescribeAvailabilityZones"]).toBe(1);
    expect(result.delaysMs.max).toBeLessThan(slowestMs);
  },
);

test("without shared reads, EC2 throttles the same clusters", async () => {
  const result = await runFleet(
    {
      clusters: 200,
      nodes: 500,
      waiting: 200,
      overMs: 15_000,
      shares: false,
      random: createRandom(SEED).next,
    },
    20_000,
  );
  console.log(JSON.stringify(result));
  expect(result.throttled).toBeGreaterThan(100);
});
