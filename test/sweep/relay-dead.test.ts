import { afterEach, expect, test } from "vitest";
import { type Sweeping, sweepEveryMinute } from "#cli/run/sweep-every-minute.ts";
import type { Node } from "#core/node/node.ts";
import { isUninitialized } from "#core/node/taints.ts";
import type { ApiRequest, ApiResponse, Transport } from "#kube/client/transport.ts";
import { type Relay, startRelay } from "#relay/relay.ts";
import { createRelayMetrics } from "#relay/report/metrics.ts";
import type { SweepLine } from "#sweep/payload.ts";
import { createFakeApi, type FakeApi } from "#test/kube/apply/fake-api.ts";
import { createManualClock, type ManualClock } from "#test/kube/follow/manual-clock.ts";
import { expectLogLines } from "#test/log-lines.ts";
import { createFakeFunctions, type FakeFunctions, TAINTED } from "#test/relay/fake-functions.ts";
import { buildCluster } from "#test/sweep/sweep-builders.ts";

interface World {
  readonly api: FakeApi;
  readonly functions: FakeFunctions;
  readonly clock: ManualClock;
  readonly relay: Relay;
  readonly lines: SweepLine[];
  readonly join: (count: number) => void;
  readonly waiting: () => Promise<number>;
  readonly overdue: () => Promise<number | undefined>;
  readonly leaseGets: () => number;
  readonly live: (seconds: number) => Promise<void>;
}

const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const each of open.splice(0)) await each.close();
});

/** Starts a relay, a sweep next to it, and one API server with a Lease, all in one injected time. */
async function start(): Promise<World> {
  const api = createFakeApi();
  const clock = createManualClock();
  const functions = createFakeFunctions(api);
  const cluster = buildCluster("one");
  const lease = { renewTime: undefined as string | undefined, gets: 0 };
  const transport: Transport = {
    stream: (request) => api.stream(request),
    close: () => Promise.resolve(),
    send: (request) => (request.path.includes("/leases/") ? answerOfLease(request) : api.send(request)),
  };
  const metrics = createRelayMetrics();
  const lines: SweepLine[] = [];
  const relay = startRelay({
    ...{ clusters: [{ cluster, transport }], invoker: functions, identity: "test", clock },
    ...{ nodeStatusUpdateFrequencySeconds: 100_000, sendsHeartbeats: true, random: () => 0.5 },
  });
  const overdue = new Map<string, number>();
  metrics.followSweep(() => overdue);
  const sweeping: Sweeping = sweepEveryMinute({
    ...{ cluster, api: async () => transport, invoker: functions, clock, random: () => 0.5 },
    log: (line) => lines.push(line),
    onOverdue: (nodes) => void overdue.set(cluster.name, nodes),
  });
  open.push(relay, sweeping);
  await clock.advance(0);
  let nodes = 0;

  async function answerOfLease({ method, body }: ApiRequest): Promise<ApiResponse> {
    if (method === "PATCH") lease.renewTime = (body as { value: string }[])[1]?.value;
    else lease.gets += 1;
    const metadata = { uid: "lease", resourceVersion: "1" };
    const spec = { holderIdentity: "serverless-ccm-relay", renewTime: lease.renewTime };
    return { status: 200, headers: {}, body: JSON.stringify({ metadata, spec }) };
  }
  return {
    ...{ api, functions, clock, relay, lines },
    leaseGets: () => lease.gets,
    join(count) {
      const creationTimestamp = clock.wallTime().toISOString();
      for (let index = 0; index < count; index += 1)
        api.put(`n${nodes++}`, { ...TAINTED, metadata: { creationTimestamp } });
    },
    async waiting() {
      const { body } = await api.send({ method: "GET", path: "/api/v1/nodes?limit=100000" });
      const { items } = JSON.parse(body) as { items: readonly Node[] };
      return items.filter((node) => isUninitialized(node)).length;
    },
    async overdue() {
      const found = /sweep_overdue_nodes\{cluster="one"\} (\d+)/.exec(await metrics.text());
      return found === null ? undefined : Number(found[1]);
    },
    async live(seconds) {
      for (let left = seconds; left > 0; left -= 50) {
        api.bookmark();
        await clock.advance(Math.min(50, left) * 1_000);
      }
      expectLogLines(lines);
    },
  };
}

test("with a good relay the sweep reads the Lease, and finds nothing overdue: the gap is 0", async () => {
  const world = await start();
  for (let minute = 0; minute < 30; minute += 1) {
    world.join(3);
    await world.live(60);
  }
  expect(await world.waiting()).toBe(0);
  expect(await world.overdue()).toBe(0);
  expect(world.leaseGets()).toBe(30);
  expect(world.functions.events.filter(({ reason }) => reason === "sweep")).toEqual([]);
  const audits = world.lines.filter(({ mode }) => mode === "audit");
  expect(audits).toHaveLength(3);
  for (const line of audits) expect(line).toMatchObject({ level: "info", overdue: 0, lease: "fresh" });
});

test("with the relay dead every node comes up within two periods of the sweep, and is counted", async () => {
  const world = await start();
  await world.live(300);
  await world.relay.close();
  world.join(5);
  // Two minutes until the Lease is stale, and a period until the next sweep.
  await world.live(180);
  expect(await world.waiting()).toBe(0);
  const gaps = world.lines.map(({ overdue }) => Number(overdue));
  expect(gaps.reduce((sum, each) => sum + each, 0)).toBe(5);
  expect(world.lines.find(({ overdue }) => overdue === 5)).toMatchObject({ level: "warn", lease: "stale" });
  for (const count of [1, 120, 3]) {
    world.join(count);
    await world.live(120);
    expect(await world.waiting()).toBe(0);
  }
  expect(world.functions.overlaps()).toBe(1);
});

test("a relay whose watch is a black hole loses nothing", async () => {
  const world = await start();
  await world.live(300);
  // Connections stay, and nothing comes; what is new is not heard of.
  world.api.hold(true);
  world.join(4);
  await world.clock.advance(90_000 + 120_000 + 60_000);
  expect(await world.waiting()).toBe(0);
});

test("the sweep of an ending process ends, whatever is in flight", async () => {
  const world = await start();
  await world.relay.close();
  world.functions.hold(true);
  world.join(2);
  await world.live(180);
  expect(world.functions.running()).toBe(1);
  await Promise.all(open.splice(0).map((each) => each.close()));
  const gets = world.leaseGets();
  await world.clock.advance(600_000);
  expect(world.leaseGets()).toBe(gets);
  world.functions.hold(false);
});
