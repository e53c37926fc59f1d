import { afterEach, describe, expect, test } from "vitest";
import { Cluster } from "#config/cluster.ts";
import { Event } from "#core/event.ts";
import { Report } from "#core/report.ts";
import { routeWatch } from "#core/route/watch.ts";
import { type Relay, startRelay } from "#relay/relay.ts";
import { createRandom } from "#test/faults/random.ts";
import { createManualClock } from "#test/kube/follow/manual-clock.ts";
import { createFakeCluster } from "#test/relay/fake-cluster.ts";
import { createFakeFunctions } from "#test/relay/fake-functions.ts";
import { buildReport, type ReportInput } from "#test/relay/report-builders.ts";
import { SEED } from "#test/seed.ts";

const relays: Relay[] = [];
afterEach(async () => {
  for (const relay of relays.splice(0)) await relay.close();
});

/**
 * Starts a relay with this many clusters of one cloud account, whose routes are compared every ten seconds.
 */
async function start(count: number) {
  const clusters = Array.from({ length: count }, (_, index) => {
    const { transport, collections } = createFakeCluster("nodes", "namespaces");
    collections.namespaces.put("kube-system", {});
    collections.nodes.put("a", { spec: { podCIDRs: ["100.64.0.0/24"] } });
    const cluster = Cluster.parse({
      name: `cluster-${index}`,
      server: "https://fake.invalid",
      cloud: { provider: "memory", instancesFile: "/none" },
      controllers: [routeWatch.name],
      routes: { clusterCIDRs: ["100.64.0.0/10"] },
    });
    return { cluster, transport, nodes: collections.nodes };
  });
  const clock = createManualClock();
  const [first] = clusters;
  if (first === undefined) throw new Error("a relay has at least one cluster");
  const functions = createFakeFunctions(first.nodes);
  const said: { next: ReportInput } = { next: { outcome: "unchanged" } };
  functions.behave((event) => ({
    kind: "report",
    report: Report.parse(buildReport(event, () => said.next)),
  }));
  const relay = startRelay({
    clusters,
    invoker: functions,
    identity: "test",
    nodeStatusUpdateFrequencySeconds: 100_000,
    watches: [routeWatch],
    clock,
    random: createRandom(SEED).next,
  });
  relays.push(relay);
  await clock.advance(0);
  const eventsIn = async (seconds: number): Promise<readonly Event[]> => {
    const before = functions.events.length;
    for (let second = 0; second < seconds; second += 1) await clock.advance(1_000);
    return functions.events.slice(before).map((event) => Event.parse(event));
  };
  return { said, eventsIn };
}

describe("routes are compared", () => {
  test("about every ten seconds in a relay with one cluster", async () => {
    const { eventsIn } = await start(1);
    await eventsIn(30);
    const { length } = await eventsIn(600);
    // Each comparison is one DescribeRouteTables call.
    expect(length).toBeGreaterThanOrEqual(54);
    expect(length).toBeLessThanOrEqual(67);
  });

  test("once a second at most in a relay with forty clusters of one account", async () => {
    const { eventsIn } = await start(40);
    await eventsIn(30);
    const events = await eventsIn(300);
    expect(events.length).toBeLessThanOrEqual(300 + 10);
    expect(events.length).toBeGreaterThanOrEqual(250);
    expect(new Set(events.map(({ cluster }) => cluster)).size).toBe(40);
  });
});

test("a stale route is resynced, and the second event carries how long each check has found it", async () => {
  const { said, eventsIn } = await start(1);
  const because = { code: "StaleRoutes", message: "" };
  said.next = { outcome: "retry", because, afterSeconds: 15, candidates: ["rtb-1 100.64.9.0/24 i-1"] };
  const events = await eventsIn(120);
  const seconds = events.flatMap(({ hints = {} }) =>
    Object.values(hints).flatMap(({ candidates = [] }) => candidates.map((each) => each.seconds)),
  );
  expect(seconds[0]).toBeGreaterThan(0);
  expect(seconds).toEqual(seconds.toSorted((a, b) => a - b));
  // A resync comes soon after the fifteen seconds, so that the route need not wait for long.
  expect(seconds.some((each) => each >= 15 && each <= 30)).toBe(true);
  said.next = { outcome: "unchanged" };
  await eventsIn(60);
  const [last] = (await eventsIn(30)).toReversed();
  expect(last?.hints).toBeUndefined();
});
