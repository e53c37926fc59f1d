import { afterEach, describe, expect, test } from "vitest";
import { Cluster } from "#config/cluster.ts";
import { nodeWatch } from "#core/node/watch.ts";
import type { Watch } from "#core/watch.ts";
import { type Relay, startRelay } from "#relay/relay.ts";
import type { OutcomeLine } from "#relay/report/outcome-line.ts";
import { createUnreachable } from "#test/kube/apply/fake-api.ts";
import { createManualClock } from "#test/kube/follow/manual-clock.ts";
import { createFakeCluster } from "#test/relay/fake-cluster.ts";
import { createFakeFunctions, INITIALIZED, TAINTED } from "#test/relay/fake-functions.ts";
import { buildReport, parseIdentity } from "#test/relay/report-builders.ts";
import { otherNodeWatch, serviceWatch } from "#test/relay/watch-builders.ts";

const relays: Relay[] = [];
afterEach(async () => {
  for (const relay of relays.splice(0)) await relay.close();
});

type Collections = ReturnType<typeof createFakeCluster<"nodes" | "services">>["collections"];

interface Given {
  readonly watches: readonly Watch[];
  /** The controllers of the cluster's entry; all without it. */
  readonly controllers?: readonly string[];
  readonly limits?: object;
  readonly prepare?: (collections: Collections) => void;
  readonly refreshSeconds?: number;
  /** Whether invocations wait for a release from the start. */
  readonly held?: boolean;
}

/** Starts a relay of these controllers; every report asks for a retry after ten minutes. */
async function start(given: Given) {
  const { transport, collections } = createFakeCluster("nodes", "services");
  given.prepare?.(collections);
  const clock = createManualClock();
  const functions = createFakeFunctions(collections.nodes);
  functions.behave((event) => ({
    kind: "report",
    report: buildReport(event, () => ({ outcome: "retry", afterSeconds: 600 })),
  }));
  functions.hold(given.held ?? false);
  const lines: OutcomeLine[] = [];
  const relay = startRelay({
    clusters: [
      {
        cluster: Cluster.parse({
          name: "one",
          server: "https://fake.invalid",
          cloud: { provider: "memory", instancesFile: "/none" },
          controllers: given.controllers ?? given.watches.map(({ name }) => name),
          limits: given.limits ?? {},
        }),
        transport,
      },
    ],
    invoker: functions,
    identity: "test",
    nodeStatusUpdateFrequencySeconds: given.refreshSeconds ?? 100_000,
    watches: given.watches,
    onOutcome: (line) => lines.push(line),
    clock,
    random: () => 0.5,
  });
  relays.push(relay);
  await clock.advance(0);
  const eventsOf = (watch: Pick<Watch, "name">) =>
    functions.events.filter(({ controller }) => controller === watch.name);
  const linesOf = (event: string) => lines.filter((line) => line.event === event);
  return { ...collections, clock, functions, relay, eventsOf, linesOf };
}

const service = (nodes?: readonly string[], namespace = "default") => ({
  metadata: { namespace },
  spec: nodes === undefined ? {} : { nodes },
});
const ready = { status: { ready: true } };
const namesOf = (events: readonly { readonly objects: readonly unknown[] }[]) =>
  events.map(({ objects }) => objects.map((object) => parseIdentity(object).name));

describe("several controllers of a cluster", () => {
  test("share one list and one watch of nodes, as own or as related objects", async () => {
    const { nodes, services, clock, eventsOf } = await start({
      watches: [nodeWatch, otherNodeWatch, serviceWatch],
      prepare({ nodes, services }) {
        nodes.put("a", TAINTED);
        services.put("web", service());
      },
    });
    await clock.advance(1_000);
    expect([nodes, services].map(({ lists, watches }) => [lists.length, watches.length])).toEqual([
      [1, 1],
      [1, 1],
    ]);
    expect([nodeWatch, otherNodeWatch, serviceWatch].map((watch) => namesOf(eventsOf(watch)))).toEqual([
      [["a"]],
      [["a"]],
      [["web"]],
    ]);
  });

  test("share one pass over all nodes", async () => {
    const { clock, eventsOf, linesOf } = await start({
      watches: [nodeWatch, otherNodeWatch],
      refreshSeconds: 300,
      prepare: ({ nodes }) => void nodes.put("a", INITIALIZED),
    });
    await clock.advance(200_000);
    expect(linesOf("Refreshed")).toMatchObject([{ resource: "nodes", objects: 1 }]);
    expect([nodeWatch, otherNodeWatch].map((watch) => eventsOf(watch).map(({ reason }) => reason))).toEqual([
      ["refresh"],
      ["refresh"],
    ]);
  });

  test("share one read of a node by name when the watch is late with their writes", async () => {
    const { nodes, clock, functions } = await start({ watches: [nodeWatch, otherNodeWatch] });
    functions.behave((event) => ({
      kind: "report",
      report: buildReport(event, () => ({ outcome: "changed", resourceVersion: "900" })),
    }));
    nodes.put("a", TAINTED);
    await clock.advance(5_400);
    expect(nodes.lists.filter((path) => path.includes("fieldSelector"))).toHaveLength(1);
  });

  test("do not run if the cluster does not name them: nothing is followed for them", async () => {
    const { services, clock, relay } = await start({
      watches: [nodeWatch, serviceWatch],
      controllers: [nodeWatch.name],
    });
    await clock.advance(1_000);
    expect(services.requests).toEqual([]);
    expect(relay.status()[0]?.controllers.map(({ name }) => name)).toEqual([nodeWatch.name]);
  });

  test("run although one named controller is unknown, which is reported", async () => {
    const { clock, relay, eventsOf, linesOf } = await start({
      watches: [nodeWatch],
      controllers: ["from-the-future", nodeWatch.name],
      prepare: ({ nodes }) => void nodes.put("a", TAINTED),
    });
    await clock.advance(1_000);
    expect(linesOf("UnknownController")).toMatchObject([{ cluster: "one", controller: "from-the-future" }]);
    expect([eventsOf(nodeWatch).length, relay.ready()]).toEqual([1, true]);
  });

  test("make the cluster not ready if none is known, with the reason", async () => {
    const { relay } = await start({ watches: [nodeWatch], controllers: ["from-the-future"] });
    expect([relay.ready(), relay.status()[0]?.failure?.code]).toEqual([false, "NoController"]);
  });

  test("take turns for permits: a flood of one delays another by one invocation at most", async () => {
    const { services, clock, functions, eventsOf } = await start({
      watches: [nodeWatch, serviceWatch],
      limits: { invocations: 2 },
      held: true,
      prepare({ nodes }) {
        for (let index = 0; index < 2_000; index += 1) nodes.put(`n${index}`, TAINTED);
      },
    });
    await clock.advance(1_000);
    services.put("web", service([]));
    await clock.advance(1_000);
    const before = eventsOf(nodeWatch).length;
    functions.release();
    await clock.advance(100);
    expect([eventsOf(serviceWatch).length, eventsOf(nodeWatch).length]).toEqual([1, before]);
    functions.hold(false);
  });

  test("share the permits evenly while both have more work than permits", async () => {
    const { clock, functions, eventsOf } = await start({
      watches: [nodeWatch, otherNodeWatch],
      limits: { invocations: 4 },
      held: true,
      prepare({ nodes }) {
        for (let index = 0; index < 2_000; index += 1) nodes.put(`n${index}`, TAINTED);
      },
    });
    await clock.advance(1_000);
    for (let round = 0; round < 12; round += 1) {
      functions.release();
      await clock.advance(10);
    }
    expect([nodeWatch, otherNodeWatch].map((watch) => eventsOf(watch).length)).toEqual([8, 8]);
    expect(functions.peak()).toBe(4);
    functions.hold(false);
  });

  test("continue when the platform denies the function of one", async () => {
    const { nodes, clock, functions, eventsOf } = await start({ watches: [nodeWatch, otherNodeWatch] });
    functions.behave((event) =>
      event.controller === nodeWatch.name
        ? { kind: "failed", code: "Denied", message: "no such function", settleMs: 0 }
        : { kind: "report", report: buildReport(event, () => ({ outcome: "retry", afterSeconds: 600 })) },
    );
    for (let index = 0; index < 10; index += 1) {
      nodes.put(`n${index}`, TAINTED);
      await clock.advance(1_000);
    }
    expect(namesOf(eventsOf(otherNodeWatch)).flat()).toHaveLength(10);
    expect(eventsOf(nodeWatch).length).toBeLessThan(8);
  });
});

describe("objects with namespaces", () => {
  test("are distinct if only their names are equal: a change or a deletion of one does not affect the other", async () => {
    const { services, clock, relay, eventsOf } = await start({ watches: [serviceWatch] });
    services.put("web", { ...service([], "a"), uid: "in-a" });
    services.put("web", { ...service([], "b"), uid: "in-b" });
    await clock.advance(1_000);
    expect(
      eventsOf(serviceWatch).flatMap(({ objects }) => objects.map((object) => parseIdentity(object).uid)),
    ).toEqual(["in-a", "in-b"]);
    expect(relay.status()[0]).toMatchObject({ objects: 2, needed: 2 });
    services.remove("web", "a");
    await clock.advance(1_000);
    expect(relay.status()[0]).toMatchObject({ objects: 1, needed: 1 });
  });
});

describe("related objects", () => {
  test.each([
    { given: "those that are read", reads: ["a", "gone"], items: ["a"] },
    { given: "all", reads: undefined, items: ["a", "b"] },
    { given: "none", reads: [], items: [] },
  ])("travel with the batch: $given, as projections", async ({ reads, items }) => {
    const { nodes, clock, eventsOf } = await start({
      watches: [serviceWatch],
      prepare({ nodes, services }) {
        nodes.put("a", ready);
        nodes.put("b", ready);
        nodes.put("of no use", {});
        services.put("web", service(reads));
      },
    });
    await clock.advance(1_000);
    expect(eventsOf(serviceWatch)).toMatchObject([
      { related: { nodes: { resourceVersion: String(nodes.version()) } } },
    ]);
    const related = eventsOf(serviceWatch)[0]?.related?.["nodes"]?.items;
    expect(related).toEqual(items.map((name) => ({ name, ready: true })));
  });

  test("are complete before anything is sent", async () => {
    const { clock, eventsOf } = await start({
      watches: [serviceWatch],
      prepare({ nodes, services }) {
        nodes.put("a", ready);
        nodes.next(...Array.from({ length: 6 }, () => createUnreachable("ConnectionRefused")));
        services.put("web", service());
      },
    });
    await clock.advance(2_000);
    expect(eventsOf(serviceWatch)).toEqual([]);
    await clock.advance(60_000);
    expect(eventsOf(serviceWatch)).toMatchObject([{ related: { nodes: { items: [{ name: "a" }] } } }]);
  });

  test.each([
    { given: "comes", change: { status: { ready: true } }, name: "b", sent: 2 },
    { given: "changes", change: { status: { ready: false } }, name: "a", sent: 2 },
    { given: "is of no use any more", change: { status: {} }, name: "a", sent: 2 },
    {
      given: "changes in what is not read",
      change: { metadata: { annotations: { beat: "1" } } },
      name: "a",
      sent: 1,
    },
    { given: "is another one", change: { status: { ready: true } }, name: "c", sent: 1 },
  ])("cause $sent invocations for their readers when one $given", async ({ change, name, sent }) => {
    const { nodes, clock, eventsOf } = await start({
      watches: [serviceWatch],
      prepare({ nodes, services }) {
        nodes.put("a", ready);
        services.put("web", service(["a", "b"]));
      },
    });
    await clock.advance(5_000);
    expect(eventsOf(serviceWatch)).toHaveLength(1);
    nodes.put(name, change);
    await clock.advance(1_100);
    expect(eventsOf(serviceWatch)).toHaveLength(sent);
    await clock.advance(100_000);
    expect(eventsOf(serviceWatch)).toHaveLength(sent);
  });

  test("cause an invocation for their readers when one is deleted", async () => {
    const { nodes, clock, eventsOf } = await start({
      watches: [serviceWatch],
      prepare({ nodes, services }) {
        nodes.put("a", ready);
        services.put("web", service(["a"]));
      },
    });
    await clock.advance(5_000);
    nodes.remove("a");
    await clock.advance(1_100);
    expect(eventsOf(serviceWatch).map(({ related }) => related?.["nodes"]?.items.length)).toEqual([1, 0]);
  });

  test.each([
    { given: "waits for its next try", held: false },
    { given: "is in flight", held: true },
  ])("are gathered for a second when they change in a row, while their reader $given", async ({ held }) => {
    const { nodes, clock, functions, eventsOf } = await start({
      watches: [serviceWatch],
      held,
      prepare: ({ services }) => void services.put("web", service()),
    });
    await clock.advance(500);
    for (let index = 0; index < 9; index += 1) {
      nodes.put(`n${index}`, ready);
      await clock.advance(100);
    }
    expect(eventsOf(serviceWatch)).toHaveLength(1);
    await clock.advance(200);
    functions.hold(false);
    await clock.advance(5_000);
    expect(eventsOf(serviceWatch).map(({ related }) => related?.["nodes"]?.items.length)).toEqual([0, 9]);
  });

  test("leave out an object whose related objects exceed an event, with a report; objects that read less are sent", async () => {
    const { clock, eventsOf, linesOf } = await start({
      watches: [serviceWatch],
      prepare({ nodes, services }) {
        for (let index = 0; index < 6; index += 1)
          nodes.put(`n${index}`, { ...ready, spec: { padding: "x".repeat(1_000_000) } });
        services.put("all", service());
        services.put("few", service(["n1", "n2", "n3"]));
        services.put("others", service(["n4", "n5"]));
      },
    });
    await clock.advance(5_000);
    expect(namesOf(eventsOf(serviceWatch))).toEqual([["few"], ["others"]]);
    expect(linesOf("ObjectTooLarge")).toMatchObject([
      { name: "all", message: expect.stringContaining("read of other") },
    ]);
    for (const event of eventsOf(serviceWatch))
      expect(JSON.stringify(event).length).toBeLessThanOrEqual(5_000_000);
  });
});

describe("a controller that decides on a batch together", () => {
  const batchWatch: Watch = { ...nodeWatch, scope: "batch" };

  test("has one invocation at a time, and the next carries everything that came meanwhile", async () => {
    const { nodes, clock, functions, eventsOf } = await start({ watches: [batchWatch] });
    functions.hold(true);
    for (let index = 0; index < 20; index += 1) {
      nodes.put(`n${index}`, TAINTED);
      await clock.advance(100);
    }
    expect([functions.running(), namesOf(eventsOf(batchWatch))]).toEqual([1, [["n0"]]]);
    functions.release();
    await clock.advance(100);
    expect(namesOf(eventsOf(batchWatch)).map((names) => names.length)).toEqual([1, 19]);
    functions.hold(false);
  });

  test("has no invocation while a lost one may still be writing", async () => {
    const { nodes, clock, functions, eventsOf } = await start({ watches: [batchWatch] });
    functions.behave((event) =>
      eventsOf(batchWatch).length > 1
        ? { kind: "report", report: buildReport(event) }
        : { kind: "failed", code: "TimedOut", message: "no", settleMs: 8_000 },
    );
    nodes.put("a", TAINTED);
    await clock.advance(100);
    nodes.put("b", TAINTED);
    await clock.advance(7_500);
    expect(eventsOf(batchWatch)).toHaveLength(1);
    await clock.advance(1_000);
    expect(namesOf(eventsOf(batchWatch))[1]).toContain("b");
  });
});

describe("a controller with long invocations", () => {
  const longWatch: Watch = { ...nodeWatch, invocations: 2 };

  test("has as many at a time as it declares, and the next carries everything that came meanwhile", async () => {
    const { nodes, clock, functions, eventsOf } = await start({
      watches: [longWatch],
      limits: { invocations: 4 },
    });
    functions.hold(true);
    for (let index = 0; index < 20; index += 1) {
      nodes.put(`n${index}`, TAINTED);
      await clock.advance(100);
    }
    expect([functions.running(), namesOf(eventsOf(longWatch))]).toEqual([2, [["n0"], ["n1"]]]);
    functions.release();
    await clock.advance(100);
    expect(namesOf(eventsOf(longWatch)).map((names) => names.length)).toEqual([1, 1, 18]);
    functions.hold(false);
  });
});

describe("a controller that monitors a lasting state", () => {
  /** A controller that monitors tainted nodes after five seconds; its work does not end the state. */
  const monitor: Watch = {
    ...otherNodeWatch,
    name: "test-monitor",
    scope: "batch",
    rechecks: {
      monitor: {
        afterSeconds: (object) => (object.metadata.name === "urgent" ? 0 : 5),
        fingerprint: (object) => object.metadata.resourceVersion,
      },
    },
  };

  test("checks first after its delay, with its own reason, and does urgent work at once", async () => {
    const { nodes, clock, eventsOf } = await start({ watches: [monitor] });
    nodes.put("a", TAINTED);
    nodes.put("urgent", TAINTED);
    await clock.advance(1_000);
    expect(namesOf(eventsOf(monitor))).toEqual([["urgent"]]);
    await clock.advance(5_000);
    expect(namesOf(eventsOf(monitor))).toEqual([["urgent"], ["a"]]);
    expect(eventsOf(monitor).map(({ reason }) => reason)).toEqual(["monitor", "monitor"]);
  });

  test("checks at once what it finds at its start", async () => {
    const { nodes, clock, eventsOf } = await start({
      watches: [monitor],
      prepare: ({ nodes }) => void nodes.put("lasting", TAINTED),
    });
    await clock.advance(1_000);
    expect(namesOf(eventsOf(monitor))).toEqual([["lasting"]]);
    nodes.put("new", TAINTED);
    await clock.advance(1_000);
    expect(namesOf(eventsOf(monitor))).toEqual([["lasting"]]);
  });

  test("continues after its own change, and reports no conflict", async () => {
    const { nodes, clock, functions, eventsOf, linesOf } = await start({ watches: [monitor] });
    functions.behave((event) => ({
      kind: "report",
      report: buildReport(event, () => ({ outcome: "changed" })),
    }));
    nodes.put("a", TAINTED);
    await clock.advance(60_000);
    expect(linesOf("WorkUndone")).toEqual([]);
    expect(eventsOf(monitor).length).toBeGreaterThan(3);
  });

  test("waits behind others' work for a limited time", async () => {
    const { nodes, clock, functions, eventsOf } = await start({
      watches: [nodeWatch, monitor],
      limits: { invocations: 1 },
    });
    functions.hold(true);
    // The permit is always taken, for four seconds at a time, and other work waits when it is free.
    const sentAfter: number[] = [];
    for (let seconds = 0; seconds < 60; seconds += 4) {
      nodes.put(`n${seconds}`, TAINTED);
      await clock.advance(3_900);
      nodes.put(`m${seconds}`, TAINTED);
      await clock.advance(90);
      if (eventsOf(monitor).length > sentAfter.length) sentAfter.push(seconds);
      functions.release();
      functions.hold(true);
      await clock.advance(10);
    }
    expect(eventsOf(nodeWatch).length).toBeGreaterThan(10);
    // The first check was due after five seconds, and had half a minute of patience.
    expect(sentAfter[0]).toBe(36);
    functions.hold(false);
  });

  test("leaves a permit to others", async () => {
    const { nodes, clock, functions, eventsOf } = await start({
      watches: [nodeWatch, monitor, { ...monitor, name: "test-monitor-too" }],
      limits: { invocations: 2 },
    });
    nodes.put("a", TAINTED);
    await clock.advance(1_000);
    functions.hold(true);
    await clock.advance(5_000);
    expect([functions.running(), eventsOf(monitor).length]).toEqual([1, 1]);
    nodes.put("b", TAINTED);
    await clock.advance(100);
    expect(namesOf(eventsOf(nodeWatch))).toEqual([["a"], ["b"]]);
    functions.hold(false);
  });
});
