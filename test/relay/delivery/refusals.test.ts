import { afterEach, describe, expect, test } from "vitest";
import { Cluster } from "#config/cluster.ts";
import { type Relay, startRelay } from "#relay/relay.ts";
import { createFakeApi } from "#test/kube/apply/fake-api.ts";
import { createManualClock, type ManualClock } from "#test/kube/follow/manual-clock.ts";
import { initialize, TAINTED } from "#test/relay/fake-functions.ts";
import { createFakePlatform, type FakePlatform, THROTTLED, UNREACHABLE } from "#test/relay/fake-platform.ts";
import { buildReport } from "#test/relay/report-builders.ts";

const relays: Relay[] = [];
afterEach(async () => {
  for (const relay of relays.splice(0)) await relay.close();
});

interface Given {
  readonly clusters: number;
  /** The nodes of each cluster that wait from the start. */
  readonly nodes: number;
  readonly concurrency: number;
  readonly runsMs: number;
}

interface World {
  readonly clock: ManualClock;
  readonly platform: FakePlatform;
  /** Adds nodes to every cluster. */
  join(nodes: number): void;
  /** Runs until every node is initialized. Returns milliseconds from the start. */
  untilDone(limitMs?: number): Promise<number>;
}

async function start({ clusters, nodes, concurrency, runsMs }: Given): Promise<World> {
  const clock = createManualClock();
  const startedMs = clock.now();
  const apis = Array.from({ length: clusters }, () => createFakeApi());
  let joined = 0;
  let done = 0;
  const join = (count: number): void => {
    for (let index = 0; index < count; index += 1)
      for (const api of apis) api.put(`n${joined}-${index}`, TAINTED);
    joined += count * clusters;
  };
  join(nodes);
  const platform = createFakePlatform({
    clock,
    concurrency,
    runsMs,
    work(event) {
      const api = apis[Number(event.cluster.slice(1))];
      if (api === undefined) throw new Error(`no cluster ${event.cluster}`);
      if (event.reason !== "refresh") done += event.objects.length;
      return { kind: "report", report: buildReport(event, (index) => initialize(api, event.objects[index])) };
    },
  });
  const relay = startRelay({
    clusters: apis.map((transport, index) => ({ cluster: clusterOf(`c${index}`), transport })),
    invoker: platform,
    identity: "test",
    nodeStatusUpdateFrequencySeconds: 100_000,
    clock,
    random: seeded(),
  });
  relays.push(relay);
  return {
    clock,
    platform,
    join,
    async untilDone(limitMs = 300_000) {
      for (let passedMs = 0; passedMs < limitMs && done < joined; passedMs += 50) await clock.advance(50);
      expect(done).toBe(joined);
      return platform.lastMs() - startedMs;
    },
  };
}

const clusterOf = (name: string): Cluster =>
  Cluster.parse({
    name,
    server: "https://fake.invalid",
    // Accounts of their own, so that no quota limits them.
    cloud: { provider: "memory", instancesFile: `/${name}` },
    controllers: ["cloud-node-controller"],
  });

/** Creates a seeded generator, so that every run is equal. */
function seeded(): () => number {
  let seed = 1;
  return () => {
    seed = (seed * 48_271) % 2_147_483_647;
    return seed / 2_147_483_647;
  };
}

const sizesOf = ({ events }: FakePlatform): readonly number[] =>
  events.filter(({ reason }) => reason !== "refresh").map(({ objects }) => objects.length);

describe("a platform that refuses invocations above its limit", () => {
  test.each([
    { clusters: 1, nodes: 500, concurrency: 1, runsMs: 400, idealMs: 2_000, maxRefused: 1 },
    { clusters: 1, nodes: 5_000, concurrency: 1, runsMs: 400, idealMs: 20_000, maxRefused: 5 },
    { clusters: 30, nodes: 50, concurrency: 10, runsMs: 333, idealMs: 999, maxRefused: 3 },
    { clusters: 30, nodes: 1_000, concurrency: 10, runsMs: 333, idealMs: 9_990, maxRefused: 30 },
    { clusters: 100, nodes: 300, concurrency: 60, runsMs: 333, idealMs: 1_665, maxRefused: 30 },
  ])(
    "$clusters clusters of $nodes nodes at concurrency $concurrency: at most twice the ideal time, whole batches, one refusal in ten",
    async ({ idealMs, maxRefused, ...given }) => {
      const { platform, untilDone } = await start(given);
      const tookMs = await untilDone();
      expect(tookMs).toBeLessThanOrEqual(2 * idealMs);
      expect(platform.refused()).toBeLessThanOrEqual(maxRefused);
      expect(Math.min(...sizesOf(platform))).toBe(Math.min(given.nodes, 100));
    },
    60_000,
  );

  test("is used fully when its limit rises", async () => {
    const { clock, platform, join, untilDone } = await start({
      clusters: 20,
      nodes: 500,
      concurrency: 2,
      runsMs: 300,
    });
    await untilDone();
    expect(platform.peak()).toBe(2);
    platform.setConcurrency(30);
    join(1_000);
    await clock.advance(31_000);
    await untilDone();
    expect(platform.peak()).toBeGreaterThan(20);
  }, 60_000);

  test("serves all clusters in turn, however many nodes one of them has", async () => {
    const { platform, untilDone } = await start({ clusters: 10, nodes: 300, concurrency: 2, runsMs: 300 });
    await untilDone();
    const taken = platform
      .taken()
      .filter(({ reason }) => reason !== "refresh")
      .map(({ cluster }) => cluster);
    // Each has three batches; none has its second before all have had their first.
    expect(new Set(taken.slice(0, 11)).size).toBeGreaterThanOrEqual(9);
    expect(taken).toHaveLength(30);
  });
});

describe("a platform with an outage of a minute", () => {
  test.each([
    { given: "unreachable", failure: UNREACHABLE },
    { given: "refusing everything", failure: THROTTLED },
    { given: "denying", failure: { ...UNREACHABLE, code: "Denied" } },
  ])("$given, gets single trials, and all the work soon after", async ({ given, failure }) => {
    const { clock, platform, untilDone } = await start({
      clusters: 30,
      nodes: 50,
      concurrency: 30,
      runsMs: 300,
    });
    platform.fail(failure);
    await clock.advance(60_000);
    const asked = platform.events.length;
    expect(asked).toBeGreaterThan(3);
    expect(asked).toBeLessThan(60);
    platform.fail(undefined);
    const tookMs = await untilDone();
    expect(tookMs).toBeLessThan(given === "denying" ? 92_000 : 67_000);
    // Nothing was wrong with any object, so none is retried.
    expect(new Set(platform.events.map(({ reason }) => reason))).toEqual(new Set(["watch"]));
    expect(Math.min(...sizesOf(platform))).toBe(50);
  });

  test("after accepting some: what it had begun counts, and nothing is begun twice", async () => {
    const { clock, platform, untilDone } = await start({
      clusters: 4,
      nodes: 400,
      concurrency: 30,
      runsMs: 300,
    });
    await clock.advance(100);
    platform.fail(UNREACHABLE);
    await clock.advance(60_000);
    platform.fail(undefined);
    await untilDone();
    const worked = platform.taken().filter(({ reason }) => reason !== "refresh");
    expect(worked.flatMap(({ objects }) => objects)).toHaveLength(1_600);
  });

  test("that loses every answer gets single trials, and all the work when the functions must have ended", async () => {
    const { clock, platform, untilDone } = await start({
      clusters: 30,
      nodes: 50,
      concurrency: 30,
      runsMs: 300,
    });
    platform.fail({ ...UNREACHABLE, settleMs: 33_000 });
    await clock.advance(60_000);
    const asked = platform.events.length;
    expect(asked).toBeGreaterThan(3);
    expect(asked).toBeLessThan(40);
    platform.fail(undefined);
    // The last lost one may run for 33 s, and waits 30 s at most before its retry.
    expect(await untilDone()).toBeLessThan(125_000);
  });
});
