import { afterEach, describe, expect, test } from "vitest";
import { Cluster } from "#config/cluster.ts";
import type { Event } from "#core/event.ts";
import type { Invocation, Invoker } from "#platforms/invoker.ts";
import { type Relay, startRelay } from "#relay/relay.ts";
import { createFakeApi, type FakeApi } from "#test/kube/apply/fake-api.ts";
import { createManualClock, type ManualClock } from "#test/kube/follow/manual-clock.ts";
import { initialize, TAINTED } from "#test/relay/fake-functions.ts";
import { buildReport } from "#test/relay/report-builders.ts";

const relays: Relay[] = [];
afterEach(async () => {
  for (const relay of relays.splice(0)) await relay.close();
});

const BAD = ["bad-0", "bad-1", "bad-2", "bad-3", "bad-4"];
const QUICK_MS = 300;

interface World {
  readonly clock: ManualClock;
  join(cluster: string, nodes: number): void;
  /**
   * Returns the invocations in flight of clusters with this prefix, and their maximum since the last call.
   */
  inFlight(prefix: string): number;
  peak(prefix: string): number;
  /** Returns the number of initialized nodes of a cluster. */
  done(cluster: string): number;
  /** Sets how a bad cluster's invocations behave from now on. */
  behave(bad: Behaviour): void;
}

/** How long an invocation takes, and its result. */
interface Behaviour {
  readonly takesMs: number;
  readonly comesTo: (event: Event) => Invocation | "work";
}

const failed =
  (code: string, settleMs = 0) =>
  (): Invocation => ({ kind: "failed", code, message: "no", settleMs });

/** An API server that answers no write: the function gives up after 20 s and reports that. */
const NEVER_ANSWERED: Behaviour = {
  takesMs: 20_000,
  comesTo: (event) => ({
    kind: "report",
    report: buildReport(event, () => ({
      outcome: "retry",
      because: { code: "ClusterUnreachable", message: "no answer" },
      afterSeconds: 1,
    })),
  }),
};
const QUICK: Behaviour = { takesMs: QUICK_MS, comesTo: () => "work" };

/** Starts one account with five clusters that behave badly and one good cluster. */
async function start(bad: Behaviour, platformTakes = Number.POSITIVE_INFINITY): Promise<World> {
  const clock = createManualClock();
  const apis = new Map<string, FakeApi>([...BAD, "good"].map((name) => [name, createFakeApi()]));
  const apiOf = (name: string): FakeApi => apis.get(name) ?? createFakeApi();
  const running = new Map<string, number>();
  const peaks = new Map<string, number>();
  const done = new Map<string, number>();
  let behaviour = bad;
  const sumOf = (prefix: string): number =>
    [...running].reduce((sum, [name, count]) => sum + (name.startsWith(prefix) ? count : 0), 0);
  const count = (name: string, by: number): void => {
    running.set(name, (running.get(name) ?? 0) + by);
    for (const prefix of ["bad", "good"]) peaks.set(prefix, Math.max(peaks.get(prefix) ?? 0, sumOf(prefix)));
  };
  const invoker: Invoker = {
    async invoke(event) {
      if (sumOf("") >= platformTakes) {
        await new Promise<void>((resolve) => void clock.after(10, resolve));
        return failed("Throttled")();
      }
      count(event.cluster, 1);
      const { takesMs, comesTo } = event.cluster === "good" ? QUICK : behaviour;
      await new Promise<void>((resolve) => void clock.after(takesMs, resolve));
      count(event.cluster, -1);
      const came = comesTo(event);
      if (came !== "work") return came;
      if (event.reason !== "refresh")
        done.set(event.cluster, (done.get(event.cluster) ?? 0) + event.objects.length);
      const api = apiOf(event.cluster);
      return { kind: "report", report: buildReport(event, (index) => initialize(api, event.objects[index])) };
    },
    close: () => Promise.resolve(),
  };
  const relay = startRelay({
    clusters: [...apis].map(([name, transport]) => ({ cluster: clusterOf(name), transport })),
    invoker,
    identity: "test",
    nodeStatusUpdateFrequencySeconds: 100_000,
    clock,
    random: () => 0.5,
  });
  relays.push(relay);
  await clock.advance(0);
  let joined = 0;
  return {
    clock,
    inFlight: sumOf,
    peak(prefix) {
      const peak = peaks.get(prefix) ?? 0;
      peaks.set(prefix, sumOf(prefix));
      return peak;
    },
    done: (name) => done.get(name) ?? 0,
    behave(next) {
      behaviour = next;
    },
    join(name, nodes) {
      for (let index = 0; index < nodes; index += 1) apiOf(name).put(`n${joined++}`, TAINTED);
    },
  };
}

const clusterOf = (name: string): Cluster =>
  Cluster.parse({
    name,
    server: "https://fake.invalid",
    cloud: { provider: "memory", instancesFile: "/one-account" },
    controllers: ["cloud-node-controller"],
  });

/** Fills the permits of the bad clusters: their nodes come one after another. */
async function fill({ clock, join }: World, seconds: number): Promise<void> {
  for (let passedMs = 0; passedMs < seconds * 1_000; passedMs += 250) {
    for (const name of BAD) join(name, 1);
    await clock.advance(250);
  }
}

describe("five clusters in one account", () => {
  test.each([
    { given: "never answer a write", bad: NEVER_ANSWERED },
    { given: "make the function crash", bad: { takesMs: 4_000, comesTo: failed("FunctionError") } },
    { given: "make the function run out of time", bad: { takesMs: 30_000, comesTo: failed("TimedOut") } },
    { given: "lose the answer", bad: { takesMs: 4_000, comesTo: failed("Unreachable", 26_000) } },
  ])("that $given have one permit each, and a good one has its four", async ({ bad }) => {
    const world = await start(bad);
    await fill(world, 60);
    world.peak("bad");
    world.peak("good");
    world.join("good", 2_000);
    await fill(world, 20 * (QUICK_MS / 1_000) * 0.5);
    expect(world.peak("bad")).toBeLessThanOrEqual(BAD.length);
    expect(world.peak("good")).toBe(4);
    expect(world.done("good")).toBe(2_000);
  });

  test("whose writes are never answered leave the good one its four permits from the first moment", async () => {
    const world = await start(NEVER_ANSWERED);
    await fill(world, 2);
    world.join("good", 2_000);
    await fill(world, 20 * (QUICK_MS / 1_000) * 0.5);
    expect(world.peak("good")).toBe(4);
    expect(world.done("good")).toBe(2_000);
  });

  test("have their four permits again after they recover", async () => {
    const world = await start(NEVER_ANSWERED);
    await fill(world, 60);
    world.behave(QUICK);
    await fill(world, 60);
    world.peak("bad");
    for (const name of BAD) world.join(name, 400);
    await world.clock.advance(1_000);
    expect(world.peak("bad")).toBeGreaterThanOrEqual(4 * BAD.length - 1);
  });

  test("that fill a function's own limit, too, take no permit from the good one for long", async () => {
    const world = await start(NEVER_ANSWERED, 4);
    await fill(world, 120);
    world.join("good", 1_000);
    await fill(world, 10 * (QUICK_MS / 1_000) * 2);
    expect(world.done("good")).toBe(1_000);
    expect(world.inFlight("bad")).toBeGreaterThan(1);
  });
});
