import { afterEach, describe, expect, test } from "vitest";
import { Cluster } from "#config/cluster.ts";
import type { ApiObject, Watch } from "#core/watch.ts";
import { type Relay, startRelay } from "#relay/relay.ts";
import { createManualClock } from "#test/kube/follow/manual-clock.ts";
import { createFakeCluster } from "#test/relay/fake-cluster.ts";
import { createFakeFunctions } from "#test/relay/fake-functions.ts";
import { buildReport, parseIdentity, type ReportInput } from "#test/relay/report-builders.ts";
import { serviceWatch } from "#test/relay/watch-builders.ts";

const relays: Relay[] = [];
afterEach(async () => {
  for (const relay of relays.splice(0)) await relay.close();
});

/** Services that need no work and are resynced when their nodes change; an audit runs every ten minutes. */
const lookingWatch: Watch = {
  ...serviceWatch,
  rechecks: {
    resync: {
      fingerprint: (service: ApiObject) => JSON.stringify(service["spec" as keyof ApiObject]),
      everySeconds: 600,
      whenRelatedChange: true,
    },
  },
};

const done = (nodes: readonly string[], more: object = {}) => ({
  metadata: { namespace: "default" },
  spec: { done: true, nodes, ...more },
});
const ready = { status: { ready: true } };

async function start(given: {
  readonly prepare?: (
    cluster: ReturnType<typeof createFakeCluster<"nodes" | "services">>["collections"],
  ) => void;
  readonly refreshSeconds?: number;
}) {
  const { transport, collections } = createFakeCluster("nodes", "services");
  given.prepare?.(collections);
  const clock = createManualClock();
  const functions = createFakeFunctions(collections.nodes);
  const said: { next: ReportInput } = { next: { outcome: "unchanged" } };
  functions.behave((event) => ({ kind: "report", report: buildReport(event, () => said.next) }));
  const relay = startRelay({
    clusters: [
      {
        cluster: Cluster.parse({
          name: "one",
          server: "https://fake.invalid",
          cloud: { provider: "memory", instancesFile: "/none" },
          controllers: [lookingWatch.name],
        }),
        transport,
      },
    ],
    invoker: functions,
    identity: "test",
    nodeStatusUpdateFrequencySeconds: given.refreshSeconds ?? 100_000,
    watches: [lookingWatch],
    clock,
    random: () => 0.5,
  });
  relays.push(relay);
  await clock.advance(0);
  const sent = () =>
    functions.events.map(({ reason, objects }) => [
      reason,
      ...objects.map((object) => (object as ApiObject).metadata.name).sort(),
    ]);
  return { ...collections, clock, functions, said, sent };
}

describe("objects without work that are resynced when related objects change", () => {
  test("are resynced once when they are first seen, because earlier changes are unknown", async () => {
    const { clock, sent } = await start({
      prepare({ nodes, services }) {
        nodes.put("a", ready);
        services.put("web", done(["a"]));
        services.put("nothing-read", done([]));
      },
    });
    await clock.advance(60_000);
    expect(sent()).toEqual([["watch", "web"]]);
  });

  test("are sent with the reason watch, only if they read what has changed, and with it", async () => {
    const { clock, nodes, sent, functions } = await start({
      prepare({ nodes, services }) {
        nodes.put("a", ready);
        services.put("web", done(["a"]));
        services.put("other", done(["b"]));
      },
    });
    await clock.advance(60_000);
    nodes.put("a", { status: { ready: false } });
    await clock.advance(1_100);
    expect(sent().slice(1)).toEqual([["watch", "web"]]);
    expect(functions.events.at(-1)?.related?.["nodes"]?.items).toEqual([{ name: "a", ready: false }]);
    await clock.advance(100_000);
    expect(sent()).toHaveLength(2);
  });

  test("are resynced once for several changes in a row, and not delayed by ever more", async () => {
    const { clock, nodes, sent } = await start({
      prepare: ({ services }) => services.put("web", done(["a"])),
    });
    await clock.advance(60_000);
    const seen = sent().length;
    for (let changes = 0; changes < 8; changes += 1) {
      nodes.put("a", { status: { ready: changes % 2 === 0 } });
      await clock.advance(250);
    }
    expect(sent()).toHaveLength(seen);
    await clock.advance(300);
    expect(sent()).toHaveLength(seen + 1);
    await clock.advance(60_000);
    expect(sent()).toHaveLength(seen + 1);
    for (let changes = 0; changes < 14; changes += 1) {
      nodes.put("a", { status: { ready: changes % 2 === 0 } });
      await clock.advance(250);
    }
    expect(sent()).toHaveLength(seen + 2);
  });

  test("are resynced again if something changes during a resync", async () => {
    const { clock, nodes, functions, sent } = await start({
      prepare({ nodes, services }) {
        nodes.put("a", ready);
        services.put("web", done(["a"]));
      },
    });
    await clock.advance(60_000);
    functions.hold(true);
    nodes.put("a", { status: { ready: false } });
    await clock.advance(2_000);
    nodes.put("a", ready);
    await clock.advance(2_000);
    expect(sent()).toHaveLength(2);
    functions.hold(false);
    await clock.advance(3_000);
    expect(sent()).toHaveLength(3);
    expect(functions.events.at(-1)?.related?.["nodes"]?.items).toEqual([{ name: "a", ready: true }]);
    await clock.advance(100_000);
    expect(sent()).toHaveLength(3);
  });

  test("are not given up if reports ask for a retry repeatedly", async () => {
    const { clock, said, sent } = await start({
      prepare({ nodes, services }) {
        nodes.put("a", ready);
        services.put("web", done(["a"]));
      },
    });
    said.next = { outcome: "retry", afterSeconds: 10 };
    await clock.advance(120_000);
    expect(sent().length).toBeGreaterThan(8);
    expect(new Set(sent().map(([reason]) => reason))).toEqual(new Set(["watch"]));
    said.next = { outcome: "unchanged" };
    await clock.advance(20_000);
    const settled = sent().length;
    await clock.advance(100_000);
    expect(sent()).toHaveLength(settled);
  });

  test("are audited at their own interval, with the reason refresh", async () => {
    const { clock, sent } = await start({
      refreshSeconds: 60,
      prepare({ nodes, services }) {
        nodes.put("a", ready);
        services.put("web", done(["a"]));
      },
    });
    await clock.advance(1_600_000);
    const reasons = sent().map(([reason]) => reason);
    expect(reasons).toEqual(["watch", "refresh", "refresh", "refresh"]);
  });

  test("are audited after a resync if they are audited during it", async () => {
    const { clock, nodes, functions, sent } = await start({
      prepare({ nodes, services }) {
        nodes.put("a", ready);
        services.put("web", done(["a"]));
      },
    });
    await clock.advance(290_000);
    functions.hold(true);
    nodes.put("a", { status: { ready: false } });
    // The first audit comes in the middle of its ten minutes.
    await clock.advance(20_000);
    functions.hold(false);
    await clock.advance(5_000);
    expect(sent().map(([reason]) => reason)).toEqual(["watch", "watch", "refresh"]);
  });

  test("are sent as work if they need work, without additional resyncs", async () => {
    const { clock, nodes, services, said, functions, sent } = await start({
      prepare: ({ nodes }) => void nodes.put("a", ready),
    });
    services.put("web", { metadata: { namespace: "default" }, spec: { nodes: ["a"] } });
    functions.hold(true);
    await clock.advance(2_000);
    nodes.put("a", { status: { ready: false } });
    await clock.advance(2_000);
    const [{ objects: [object] = [] } = {}] = functions.events;
    const written = services.put("web", { ...done(["a"]), uid: parseIdentity(object).uid });
    said.next = { outcome: "changed", resourceVersion: written.metadata.resourceVersion };
    functions.hold(false);
    await clock.advance(100_000);
    // What was sent is older than the change.
    expect(sent()).toEqual([
      ["watch", "web"],
      ["watch", "web"],
    ]);
    expect(functions.events.at(-1)?.related?.["nodes"]?.items).toEqual([{ name: "a", ready: false }]);
  });
});
