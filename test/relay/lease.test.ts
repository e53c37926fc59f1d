import { afterEach, describe, expect, test } from "vitest";
import { Cluster } from "#config/cluster.ts";
import { createStops, type Stops } from "#config/switch/follow-stops.ts";
import { leaseStateOf } from "#core/relay-lease.ts";
import type { Invocation } from "#delivery/invoker.ts";
import type { ApiResponse, Transport } from "#kube/client/transport.ts";
import { type Relay, startRelay } from "#relay/relay.ts";
import { createRelayMetrics } from "#relay/report/metrics.ts";
import type { OutcomeLine } from "#relay/report/outcome-line.ts";
import { createFakeApi, type FakeApi, status, unreachable } from "#test/kube/apply/fake-api.ts";
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
  /** Lives for so long: the API server sends a bookmark every 50 s. */
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
    vouches: true,
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
  leaseStateOf(
    { spec: { holderIdentity: "serverless-ccm-relay", renewTime: lease.renewTime } },
    clock.wallTime(),
  ).kind === "fresh";
const leaseLines = ({ lines }: World) => lines.filter(({ event }) => event.startsWith("Lease"));
const failing = (code: string): Invocation => ({ kind: "failed", code, message: "no", settleMs: 0 });

describe("a relay whose watch lives and whose invocations are taken", () => {
  test("renews the Lease every 30 s, with one request each and one line in all", async () => {
    const world = await start();
    await world.live(300);
    expect(world.lease.requests).toHaveLength(10);
    expect(new Set(world.lease.requests).size).toBe(1);
    expect(world.lease.requests[0]).toMatch(/^PATCH .*\?fieldManager=serverless-ccm .*PartialObjectMetadata/);
    expect(isFresh(world)).toBe(true);
    expect(leaseLines(world)).toMatchObject([{ level: "info", event: "LeaseRenewed", cluster: "one" }]);
    expect(await world.outcomes()).toEqual({ renewed: 10 });
  });

  test("goes on renewing it when a node came up", async () => {
    const world = await start();
    world.api.put("a", TAINTED);
    await world.live(150);
    expect(world.functions.events).not.toEqual([]);
    expect(isFresh(world)).toBe(true);
  });

  test("does not touch it under a dry run", async () => {
    const world = await start({ policies: { dryRun: true } });
    await world.live(300);
    expect(world.lease.requests).toEqual([]);
  });

  test("renews nothing any more once it is drained", async () => {
    const world = await start();
    await world.live(60);
    await world.relay.drain(AbortSignal.timeout(1_000));
    const { length } = world.lease.requests;
    await world.live(120);
    expect(world.lease.requests).toHaveLength(length);
  });
});

describe("the Lease goes stale when", () => {
  test("the connection was lost, and the watch that was resumed is of a store that was set back, and silent", async () => {
    const world = await start();
    await world.live(30);
    world.api.breakWatches();
    // Every comparison and every list is answered too late, as a server that starts may.
    world.api.next(...Array.from({ length: 40 }, () => unreachable("TimedOut")));
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
      new Promise((_, reject) => signal?.addEventListener("abort", () => reject(unreachable("Aborted"))));
    await world.clock.advance(90_000 + 120_000 + 60_000);
    expect(isFresh(world)).toBe(false);
    expect(leaseLines(world)).toMatchObject([
      { event: "LeaseRenewed" },
      { level: "warn", event: "LeaseNotRenewed", outcome: "withheld", code: "WatchSilent" },
    ]);
  });

  test("the API server refuses to be listed", async () => {
    const world = await start();
    await world.live(60);
    world.api.breakWatches();
    world.api.next(...Array.from({ length: 500 }, () => unreachable("ConnectionRefused")));
    await world.clock.advance(300_000);
    expect(isFresh(world)).toBe(false);
  });

  test.each(["Denied", "Throttled", "Unreachable", "FunctionError", "TimedOut", "BadReport"])(
    "invocations end as %s, and is fresh again once they are taken",
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

test("the node whose invocation failed is gone: nobody has to hear of it, and the Lease is renewed", async () => {
  const world = await start();
  world.functions.behave(() => failing("Denied"));
  world.api.put("a", TAINTED);
  await world.live(200);
  expect(isFresh(world)).toBe(false);
  world.api.remove("a");
  await world.live(100);
  expect(isFresh(world)).toBe(true);
});

test("a failed invocation is not forgotten while there are nodes that are looked at", async () => {
  const world = await start();
  world.api.put("there", INITIALIZED);
  world.functions.behave(() => failing("Denied"));
  world.api.put("a", TAINTED);
  await world.live(200);
  world.api.remove("a");
  await world.live(100);
  expect(isFresh(world)).toBe(false);
});

test("says first that an operator has stopped writes, and that the sweep does nothing either", async () => {
  const world = await start({}, createStops({ stopped: [{ what: "writes" }] }));
  await world.live(60);
  const [line] = leaseLines(world);
  expect(line).toMatchObject({ event: "LeaseNotRenewed", outcome: "withheld", code: "Stopped" });
  expect(line?.["message"]).toMatch(
    /^an operator has stopped writes: neither this relay nor the sweep writes/,
  );
  expect(world.lease.requests).toEqual([]);
});

describe("a renewal that is refused stops nothing", () => {
  test.each([
    ["missing", "Gone", () => status(404, "NotFound", "not found")],
    ["forbidden", "Forbidden", () => status(403, "Forbidden", "no")],
    ["failed", "Conflict", () => status(409, "Conflict", "no")],
    ["failed", "Throttled", () => status(429, "TooManyRequests", "later")],
    ["failed", "Unavailable", () => status(500, "InternalError", "broken")],
    ["failed", "Unavailable", () => ({ body: "rubbish" })],
    [
      "failed",
      "Unexpected",
      () => {
        throw new TypeError("a fault");
      },
    ],
  ] as const)(
    "%s (%s): a line for each change and a number, and nodes come up",
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
