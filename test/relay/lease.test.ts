import { afterEach, describe, expect, test } from "vitest";
import { Cluster } from "#config/cluster.ts";
import { createStops, type Stops } from "#config/switch/follow-stops.ts";
import { parseLeaseState } from "#core/relay-lease.ts";
import type { ApiResponse, Transport } from "#kube/client/transport.ts";
import type { Invocation } from "#platforms/invoker.ts";
import { type Relay, startRelay } from "#relay/relay.ts";
import { createRelayMetrics } from "#relay/report/metrics.ts";
import type { OutcomeLine } from "#relay/report/outcome-line.ts";
import { buildStatus, createFakeApi, createUnreachable, type FakeApi } from "#test/kube/apply/fake-api.ts";
import { createManualClock, type ManualClock } from "#test/kube/follow/manual-clock.ts";
import { expectLogLines } from "#test/log-lines.ts";
import { createFakeFunctions, type FakeFunctions, INITIALIZED, TAINTED } from "#test/relay/fake-functions.ts";

const LEASE = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/serverless-ccm-relay";
const RENEWED = { kind: "PartialObjectMetadata", metadata: { uid: "lease", resourceVersion: "7" } };

/** A Lease in memory, and how it answers. */
interface FakeLease {
  answer: () => Partial<ApiResponse>;
  renewTime: string | undefined;
  requests: string[];
}

interface World {
  readonly api: FakeApi;
  readonly lease: FakeLease;
  readonly functions: FakeFunctions;
  readonly clock: ManualClock;
  readonly relay: Relay;
  readonly lines: OutcomeLine[];
  readonly outcomes: () => Promise<Readonly<Record<string, number>>>;
  /** Lets time pass while the API server sends a bookmark every 50 s. */
  readonly live: (seconds: number) => Promise<void>;
}

const relays: Relay[] = [];
const logged: OutcomeLine[] = [];
afterEach(async () => {
  for (const relay of relays.splice(0)) await relay.close();
  expectLogLines(logged.splice(0));
});

async function start(
  options: { readonly policies?: object; readonly limits?: object } = {},
  stops?: Stops,
): Promise<World> {
  const api = createFakeApi();
  const clock = createManualClock();
  const functions = createFakeFunctions(api);
  const lease: FakeLease = {
    answer: () => ({ body: JSON.stringify(RENEWED) }),
    renewTime: undefined,
    requests: [],
  };
  const lines: OutcomeLine[] = [];
  const metrics = createRelayMetrics();
  const relay = startRelay({
    clusters: [{ cluster: clusterOf(options), transport: withLease(api, lease) }],
    invoker: functions,
    identity: "test",
    nodeStatusUpdateFrequencySeconds: 100_000,
    sendsHeartbeats: true,
    stops,
    metrics,
    onOutcome: (line) => logged.push(line) && lines.push(line),
    clock,
    random: () => 0.5,
  });
  relays.push(relay);
  await clock.advance(0);
  return {
    ...{ api, lease, functions, clock, relay, lines },
    async live(seconds) {
      for (let left = seconds; left > 0; left -= 50) {
        api.bookmark();
        await clock.advance(Math.min(50, left) * 1_000);
      }
    },
    async outcomes() {
      const found = [
        ...(await metrics.text()).matchAll(/lease_renewals_total\{cluster="one",outcome="(\w+)"\} (\d+)/g),
      ];
      return Object.fromEntries(found.map(([, outcome, count]) => [outcome, Number(count)]));
    },
  };
}

function clusterOf(more: object): Cluster {
  const cloud = { provider: "memory", instancesFile: "/none" };
  const controllers = ["cloud-node-controller"];
  return Cluster.parse({ name: "one", server: "https://fake.invalid", cloud, controllers, ...more });
}

function withLease(api: FakeApi, lease: FakeLease): Transport {
  return {
    stream: (request) => api.stream(request),
    close: () => Promise.resolve(),
    async send(request) {
      if (!request.path.startsWith(LEASE)) return api.send(request);
      lease.requests.push(`${request.method} ${request.path} ${request.accept}`);
      const answer = { status: 200, headers: {}, body: "", ...lease.answer() };
      const [test, renew] = request.body as { value: string }[];
      if (answer.status === 200 && test?.value === "serverless-ccm-relay") lease.renewTime = renew?.value;
      return answer;
    },
  };
}

const isFresh = ({ lease, clock }: World): boolean =>
  parseLeaseState(
    { spec: { holderIdentity: "serverless-ccm-relay", renewTime: lease.renewTime } },
    clock.wallTime(),
  ).kind === "fresh";
const leaseLines = ({ lines }: World) => lines.filter(({ event }) => event.startsWith("Lease"));
const failing = (code: string): Invocation => ({ kind: "failed", code, message: "no", settleMs: 0 });

describe("a relay whose watch lives and whose invocations are accepted", () => {
  test("renews the Lease every 30 s, with one request each and one log line in all", async () => {
    const world = await start();
    await world.live(300);
    expect(world.lease.requests).toHaveLength(10);
    expect(new Set(world.lease.requests).size).toBe(1);
    expect(world.lease.requests[0]).toMatch(/^PATCH .*\?fieldManager=serverless-ccm .*PartialObjectMetadata/);
    expect(isFresh(world)).toBe(true);
    expect(leaseLines(world)).toMatchObject([{ level: "info", event: "LeaseRenewed", cluster: "one" }]);
    expect(await world.outcomes()).toEqual({ renewed: 10 });
  });

  test("continues to renew it after a node was initialized", async () => {
    const world = await start();
    world.api.put("a", TAINTED);
    await world.live(150);
    expect(world.functions.events).not.toEqual([]);
    expect(isFresh(world)).toBe(true);
  });

  test("does not write it in a dry run", async () => {
    const world = await start({ policies: { dryRun: true } });
    await world.live(300);
    expect(world.lease.requests).toEqual([]);
  });

  test("renews nothing after it is drained", async () => {
    const world = await start();
    await world.live(60);
    await world.relay.drain(AbortSignal.timeout(1_000));
    const { length } = world.lease.requests;
    await world.live(120);
    expect(world.lease.requests).toHaveLength(length);
  });
});

describe("the Lease becomes stale when", () => {
  test("the connection was lost, and the resumed watch is silent because the store was reset", async () => {
    const world = await start();
    await world.live(30);
    world.api.breakWatches();
    // Every comparison and every list is answered too late, as may happen after a server's start.
    world.api.next(...Array.from({ length: 40 }, () => createUnreachable("TimedOut")));
    const { length } = world.lease.requests;
    await world.clock.advance(60_000);
    expect(world.lease.requests).toHaveLength(length);
    expect(leaseLines(world).at(-1)).toMatchObject({
      event: "LeaseNotRenewed",
      outcome: "withheld",
      code: "WatchSilent",
    });
  });

  test("the watch is a black hole: open, and silent", async () => {
    const world = await start();
    await world.live(120);
    expect(isFresh(world)).toBe(true);
    // Lists and watches hang as well.
    world.api.send = ({ signal }) =>
      new Promise((_, reject) =>
        signal?.addEventListener("abort", () => reject(createUnreachable("Aborted"))),
      );
    await world.clock.advance(90_000 + 120_000 + 60_000);
    expect(isFresh(world)).toBe(false);
    expect(leaseLines(world)).toMatchObject([
      { event: "LeaseRenewed" },
      { level: "warn", event: "LeaseNotRenewed", outcome: "withheld", code: "WatchSilent" },
    ]);
  });

  test("the API server refuses lists", async () => {
    const world = await start();
    await world.live(60);
    world.api.breakWatches();
    world.api.next(...Array.from({ length: 500 }, () => createUnreachable("ConnectionRefused")));
    await world.clock.advance(300_000);
    expect(isFresh(world)).toBe(false);
  });

  test.each(["Denied", "Throttled", "Unreachable", "FunctionError", "TimedOut", "BadReport"])(
    "invocations end with %s, and is fresh again once they are accepted",
    async (code) => {
      const world = await start();
      await world.live(60);
      world.functions.behave(() => failing(code));
      world.api.put("a", TAINTED);
      await world.live(300);
      expect(isFresh(world)).toBe(false);
      world.functions.behave(() => "work");
      await world.live(300);
      expect(isFresh(world)).toBe(true);
      expect(leaseLines(world)).toMatchObject([
        { event: "LeaseRenewed" },
        { event: "LeaseNotRenewed", outcome: "withheld", code: "NotDelivered" },
        { event: "LeaseRenewed" },
      ]);
    },
  );

  test("objects wait to be sent, although nothing failed", async () => {
    const world = await start({ limits: { invocations: 1 } });
    await world.live(60);
    world.functions.hold(true);
    world.api.put("a", TAINTED);
    await world.clock.advance(1_000);
    world.api.put("b", TAINTED);
    await world.live(300);
    expect(isFresh(world)).toBe(false);
    world.functions.hold(false);
  });
});

test("the Lease is renewed after the node of the failed invocation is deleted, because no object waits", async () => {
  const world = await start();
  world.functions.behave(() => failing("Denied"));
  world.api.put("a", TAINTED);
  await world.live(200);
  expect(isFresh(world)).toBe(false);
  world.api.remove("a");
  await world.live(100);
  expect(isFresh(world)).toBe(true);
});

test("a failed invocation still counts while there are nodes to refresh", async () => {
  const world = await start();
  world.api.put("there", INITIALIZED);
  world.functions.behave(() => failing("Denied"));
  world.api.put("a", TAINTED);
  await world.live(200);
  world.api.remove("a");
  await world.live(100);
  expect(isFresh(world)).toBe(false);
});

test("an operator's stop of writes is reported first, with the note that the sweep writes nothing either", async () => {
  const world = await start({}, createStops({ stopped: [{ what: "writes" }] }));
  await world.live(60);
  const [line] = leaseLines(world);
  expect(line).toMatchObject({ event: "LeaseNotRenewed", outcome: "withheld", code: "Stopped" });
  expect(line?.["message"]).toMatch(
    /^an operator has stopped writes: neither this relay nor the sweep writes/,
  );
  expect(world.lease.requests).toEqual([]);
});

describe("a refused renewal stops nothing", () => {
  test.each([
    ["missing", "Gone", () => buildStatus(404, "NotFound", "not found")],
    ["forbidden", "Forbidden", () => buildStatus(403, "Forbidden", "no")],
    ["failed", "Conflict", () => buildStatus(409, "Conflict", "no")],
    ["failed", "Throttled", () => buildStatus(429, "TooManyRequests", "later")],
    ["failed", "Unavailable", () => buildStatus(500, "InternalError", "broken")],
    ["failed", "Unavailable", () => ({ body: "rubbish" })],
    [
      "failed",
      "Unexpected",
      () => {
        throw new TypeError("a fault");
      },
    ],
  ] as const)(
    "%s (%s): a line for each change and a metric, and nodes are initialized",
    async (outcome, code, answer) => {
      const world = await start();
      world.lease.answer = answer;
      await world.live(300);
      world.api.put("a", TAINTED);
      await world.live(50);
      expect(world.functions.events[0]).toMatchObject({ reason: "watch" });
      expect(world.relay.status()[0]).toMatchObject({ objects: 1, needed: 0 });
      expect(world.relay.ready()).toBe(true);
      expect(leaseLines(world)).toMatchObject([{ level: "warn", event: "LeaseNotRenewed", outcome, code }]);
      expect((await world.outcomes())[outcome]).toBeGreaterThanOrEqual(10);
      world.lease.answer = () => ({ body: JSON.stringify(RENEWED) });
      await world.live(50);
      expect(leaseLines(world).at(-1)).toMatchObject({ event: "LeaseRenewed" });
      expect(isFresh(world)).toBe(true);
    },
  );
});
