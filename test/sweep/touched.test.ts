import { describe, expect, test } from "vitest";
import { WATCHES } from "#core/controllers.ts";
import type { Event } from "#core/event.ts";
import { formatObjectKey, type ObjectName } from "#core/resources/resource.ts";
import type { ApiObject } from "#core/watch.ts";
import { mergeTouched, type ObjectNames, type TouchedObjects } from "#sweep/touched.ts";
import { buildStatus } from "#test/kube/apply/fake-api.ts";
import { INITIALIZED, initialize, TAINTED } from "#test/relay/fake-functions.ts";
import { buildReport } from "#test/relay/report-builders.ts";
import { createSweptWorld, type SweptWorld } from "#test/sweep/sweep-builders.ts";

const LIST_NODES = "GET /api/v1/nodes";

const toNames = (names: readonly (string | ObjectName)[]): ObjectNames =>
  new Map(
    names.map((each) => {
      const name = typeof each === "string" ? { name: each } : each;
      return [formatObjectKey(name), name];
    }),
  );
const touchNodes = (...names: readonly string[]): TouchedObjects => new Map([["nodes", toNames(names)]]);

/** What each event brings, as controller and names of objects. */
const listSent = (events: readonly Event[]): unknown[] =>
  events.map(({ controller, objects }) => [
    controller,
    ...objects.map((object) => (object as ApiObject).metadata.name),
  ]);

function createWorld(...controllers: readonly string[]): SweptWorld {
  const routes = controllers.includes("node-route-controller") ? { clusterCIDRs: ["10.128.0.0/14"] } : {};
  const entry = { controllers: controllers.length === 0 ? ["cloud-node-controller"] : controllers, routes };
  const world = createSweptWorld({ watches: WATCHES, entry });
  world.invoke = async (event) => ({ kind: "report", report: buildReport(event) });
  world.namespaces.put("kube-system");
  return world;
}

describe("a look at touched nodes", () => {
  test("reads them by name, and sends those that need work", async () => {
    const world = createWorld();
    world.nodes.put("new", TAINTED);
    world.nodes.put("done", INITIALIZED);
    world.nodes.put("other", TAINTED);
    expect(await world.look(touchNodes("new", "done", "gone"))).toMatchObject({
      ...{ mode: "touched", invocations: 1, reported: 1, overdue: 0, because: undefined },
    });
    expect(listSent(world.events)).toEqual([["cloud-node-controller", "new"]]);
    expect(world.requests).toEqual([LIST_NODES, LIST_NODES, LIST_NODES]);
    expect(world.nodes.lists.every((path) => path.includes("fieldSelector=metadata.name%3D"))).toBe(true);
  });

  test("reads nothing else if none needs work", async () => {
    const world = createWorld("cloud-node-controller", "cloud-node-lifecycle-controller", "csr-approver");
    world.nodes.put("done", INITIALIZED);
    expect(await world.look(touchNodes("done"))).toMatchObject({ invocations: 0, because: undefined });
    expect(world.requests).toEqual([LIST_NODES]);
  });

  test("lists all if they are many, and sends only those that were touched", async () => {
    const world = createWorld();
    const names = Array.from({ length: 60 }, (_, index) => `n${String(index).padStart(3, "0")}`);
    for (const name of [...names, "other"]) world.nodes.put(name, TAINTED);
    await world.look(touchNodes(...names));
    expect(world.requests).toEqual([LIST_NODES]);
    expect(listSent(world.events)).toEqual([["cloud-node-controller", ...names]]);
  });

  test("sends every node that needs work if all were touched, in batches, and more at a time than a sweep", async () => {
    const world = createWorld();
    for (let index = 0; index < 350; index += 1) world.nodes.put(`n${index}`, TAINTED);
    const { promise: four, resolve } = Promise.withResolvers<void>();
    let running = 0;
    world.invoke = async (event) => {
      running += 1;
      if (running === 4) resolve();
      await four;
      return {
        kind: "report",
        report: buildReport(event, (index) => initialize(world.nodes, event.objects[index])),
      };
    };
    expect(await world.look(new Map([["nodes", "all"]]))).toMatchObject({ invocations: 4, reported: 350 });
    expect(await world.look(new Map([["nodes", "all"]]))).toMatchObject({ invocations: 0 });
  });

  test("leaves nodes that are not ready to the sweep, which waits before it judges them", async () => {
    const world = createWorld("cloud-node-lifecycle-controller");
    world.nodes.put("silent", {
      ...INITIALIZED,
      status: { conditions: [{ type: "Ready", status: "Unknown" }] },
    });
    await world.look(touchNodes("silent"));
    expect(world.events).toEqual([]);
    expect(world.requests).toEqual([]);
  });

  test.each([
    ["gone", "gone"],
    ["changed", "kept"],
  ])("checks what follows nodes when one is %s, with the whole list", async (_, touched) => {
    const world = createWorld("cloud-node-controller", "node-route-controller", "tagging");
    world.nodes.put("kept", INITIALIZED);
    world.nodes.put("other", INITIALIZED);
    await world.look(touchNodes(touched));
    expect(listSent(world.events)).toEqual([
      ["node-route-controller", "kube-system"],
      ["tagging", "kube-system"],
    ]);
    for (const { related } of world.events) expect(related?.["nodes"]?.items).toHaveLength(2);
  });
});

test("nothing follows a node that waits for its initialization, which changes it again", async () => {
  const world = createWorld("cloud-node-controller", "service-lb-controller", "tagging");
  world.nodes.put("new", TAINTED);
  await world.look(touchNodes("new"));
  expect(listSent(world.events)).toEqual([["cloud-node-controller", "new"]]);
  expect(world.requests).toEqual([LIST_NODES]);
});

describe("a look at a touched Service", () => {
  const WANTED = {
    metadata: { namespace: "default" },
    spec: { type: "LoadBalancer", ports: [{ port: 80 }] },
  };
  const touchService = (name: string): TouchedObjects =>
    new Map([["services", toNames([{ namespace: "default", name }])]]);

  test("sends it with the nodes and Services that its decision reads", async () => {
    const world = createWorld("cloud-node-controller", "service-lb-controller");
    world.services.put("web", WANTED);
    world.services.put("other", WANTED);
    for (const name of ["a", "b"]) world.nodes.put(name, INITIALIZED);
    await world.look(touchService("web"));
    expect(listSent(world.events)).toEqual([["service-lb-controller", "web"]]);
    expect(world.events[0]?.related?.["nodes"]?.items).toHaveLength(2);
    expect(world.events[0]?.related?.["services"]?.items).toHaveLength(2);
  });

  test("reads only the Service if it wants no load balancer", async () => {
    const world = createWorld("cloud-node-controller", "service-lb-controller");
    world.services.put("web", { ...WANTED, spec: { type: "ClusterIP" } });
    await world.look(touchService("web"));
    expect([world.events, world.requests]).toEqual([[], ["GET /api/v1/namespaces/default/services"]]);
  });

  test("checks the Services that wait for others to go when one is gone", async () => {
    const world = createWorld("service-lb-controller");
    world.services.put("waits", WANTED);
    world.nodes.put("a", INITIALIZED);
    await world.look(touchService("gone"));
    expect(listSent(world.events)).toEqual([["service-lb-controller", "waits"]]);
  });
});

describe("a look at a touched certificate signing request", () => {
  const request = (node: string): object => ({
    spec: {
      ...{ request: "cmVxdWVzdA==", signerName: "kubernetes.io/kubelet-serving" },
      ...{ username: `system:node:${node}`, groups: ["system:nodes"], usages: ["server auth"] },
    },
  });
  const TOUCHED: TouchedObjects = new Map([["certificatesigningrequests", toNames(["csr-a"])]]);

  test("reads its node by name, of any number of nodes", async () => {
    const world = createWorld("cloud-node-controller", "csr-approver");
    world.requestsOfLists.put("csr-a", request("a"));
    for (const name of ["a", "b", "c"]) world.nodes.put(name, INITIALIZED);
    await world.look(TOUCHED);
    expect(listSent(world.events)).toEqual([["csr-approver", "csr-a"]]);
    expect(world.events[0]?.related?.["nodes"]?.items).toMatchObject([{ metadata: { name: "a" } }]);
    expect(world.nodes.lists).toEqual([expect.stringContaining("fieldSelector=metadata.name%3Da")]);
  });

  test("is not sent if its node cannot be read", async () => {
    const world = createWorld("cloud-node-controller", "csr-approver");
    world.requestsOfLists.put("csr-a", request("a"));
    const { transport } = world;
    const send: typeof transport.send = async (asked) =>
      asked.path.startsWith("/api/v1/nodes")
        ? buildStatus(500, "InternalError", "broken")
        : transport.send(asked);
    Object.assign(world, { transport: { ...transport, send } });
    expect(await world.look(TOUCHED)).toMatchObject({ invocations: 0, because: { code: "Unavailable" } });
    const both: TouchedObjects = new Map([...TOUCHED, ...touchNodes("a")]);
    expect(await world.look(both)).toMatchObject({ invocations: 0, because: { code: "Unavailable" } });
    expect(world.events).toEqual([]);
  });
});

describe("a look does nothing", () => {
  test.each([
    ["under a dry run", { entry: { policies: { dryRun: true } } }, undefined],
    ["while writes are stopped", {}, "writes"],
  ] as const)("%s", async (_, options, stop) => {
    const world = createSweptWorld(options);
    world.stop = stop;
    world.nodes.put("new", TAINTED);
    expect(await world.look(touchNodes("new"))).toMatchObject({ mode: "none", invocations: 0 });
    expect(world.requests).toEqual([]);
  });

  test("at resources of controllers that are off", async () => {
    const world = createWorld();
    world.services.put("web", { spec: { type: "LoadBalancer" } });
    await world.look(new Map([["services", "all"]]));
    expect([world.requests, world.events]).toEqual([[], []]);
  });

  test("after its time", async () => {
    const world = createWorld();
    world.nodes.put("new", TAINTED);
    const found = await world.look(touchNodes("new"), { signal: AbortSignal.abort() });
    expect(found).toMatchObject({ because: { code: "DeadlineReached" } });
    expect(world.requests).toEqual([]);
  });
});

test("a stop of deletions travels with the event", async () => {
  const world = createWorld("service-lb-controller");
  world.stop = "deletes";
  world.services.put("web", {
    metadata: { namespace: "default" },
    spec: { type: "LoadBalancer", ports: [] },
  });
  await world.look(new Map([["services", toNames([{ namespace: "default", name: "web" }])]]));
  expect(world.events.map(({ stop }) => stop)).toEqual(["deletes"]);
});

test("touched objects of two reports are those of both, and too many are the whole resource", () => {
  const services: TouchedObjects = new Map([["services", "all" as const]]);
  expect(mergeTouched(touchNodes("a"), mergeTouched(touchNodes("b", "a"), services))).toEqual(
    new Map<string, ObjectNames>([
      ["nodes", toNames(["a", "b"])],
      ["services", "all"],
    ]),
  );
  const many = touchNodes(...Array.from({ length: 500 }, (_, index) => `n${index}`));
  expect(mergeTouched(many, touchNodes("one-more")).get("nodes")).toBe("all");
});
