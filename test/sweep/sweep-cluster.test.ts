import { describe, expect, test } from "vitest";
import type { Event } from "#core/event.ts";
import { nodeWatch } from "#core/node/watch.ts";
import type { Invocation } from "#platforms/invoker.ts";
import { isRefreshTurn, toMinute } from "#sweep/select.ts";
import { buildStatus, createUnreachable } from "#test/kube/apply/fake-api.ts";
import { waitUntilQuiet } from "#test/kube/follow/manual-clock.ts";
import { INITIALIZED, initialize, TAINTED } from "#test/relay/fake-functions.ts";
import { buildReport, parseIdentity, type ReportInput } from "#test/relay/report-builders.ts";
import {
  createLeaseAnswer,
  createSweptWorld,
  findMinute,
  type SweptWorld,
} from "#test/sweep/sweep-builders.ts";

const GET_LEASE = "GET /apis/coordination.k8s.io/v1/namespaces/kube-system/leases/serverless-ccm-relay";
const LIST_NODES = "GET /api/v1/nodes";
const LONG_AGO = { metadata: { creationTimestamp: "2025-12-31T00:00:00Z" } };
const JUST_NOW = { metadata: { creationTimestamp: "2025-12-31T23:59:30Z" } };

const reporting =
  (said: (index: number) => ReportInput = () => ({})) =>
  async (event: Event): Promise<Invocation> => ({ kind: "report", report: buildReport(event, said) });
const working =
  (world: SweptWorld) =>
  async (event: Event): Promise<Invocation> => ({
    kind: "report",
    report: buildReport(event, (index) => initialize(world.nodes, event.objects[index])),
  });
const namesIn = (events: readonly Event[]) =>
  events.map(({ objects }) => objects.map((object) => parseIdentity(object).name));

function joined(world: SweptWorld, count: number, fields: object = { ...TAINTED, ...LONG_AGO }): void {
  for (let index = 0; index < count; index += 1)
    world.nodes.put(`n${String(index).padStart(4, "0")}`, fields);
}

describe("a cluster with a fresh Lease", () => {
  test("takes one GET of the Lease, and nothing else", async () => {
    const world = createSweptWorld();
    world.lease = createLeaseAnswer(30_000);
    joined(world, 3);
    const minute = findMinute("one", false, world.clock.wallTime().getTime());
    expect(await world.sweep({ minute })).toMatchObject({
      mode: "lease",
      lease: "fresh",
      listed: 0,
      overdue: 0,
    });
    expect(world.requests).toEqual([GET_LEASE]);
    expect(world.events).toEqual([]);
  });

  test("is listed in its tenth minute, where all is well finds nothing, and leaves what is new to the relay", async () => {
    const world = createSweptWorld();
    world.lease = createLeaseAnswer(30_000);
    joined(world, 3, { ...INITIALIZED, ...LONG_AGO });
    world.nodes.put("new", { ...TAINTED, ...JUST_NOW });
    const minute = findMinute("one", true, world.clock.wallTime().getTime());
    expect(await world.sweep({ minute })).toMatchObject({
      mode: "audit",
      listed: 4,
      overdue: 0,
      invocations: 0,
    });
    expect(world.requests).toEqual([GET_LEASE, LIST_NODES]);
  });

  test("has what is overdue done in that minute, and counts it", async () => {
    const world = createSweptWorld();
    world.lease = createLeaseAnswer(30_000);
    world.invoke = working(world);
    joined(world, 7);
    world.nodes.put("new", { ...TAINTED, ...JUST_NOW });
    const minute = findMinute("one", true, world.clock.wallTime().getTime());
    expect(await world.sweep({ minute })).toMatchObject({
      mode: "audit",
      overdue: 7,
      reported: 7,
      because: undefined,
    });
    expect(world.events.map(({ reason, budget, hints }) => ({ reason, budget, hints }))).toEqual([
      { reason: "sweep" },
    ]);
    expect(await world.sweep({ minute })).toMatchObject({ mode: "audit", overdue: 0, invocations: 0 });
  });
});

describe("everything is done where the Lease", () => {
  test.each([
    ["is two minutes old", "stale", createLeaseAnswer(120_000)],
    ["was never renewed", "stale", () => ({ body: '{"spec":{"holderIdentity":"serverless-ccm-relay"}}' })],
    ["is missing", "missing", () => buildStatus(404, "NotFound", "leases not found")],
    ["may not be read", "unreadable", () => buildStatus(403, "Forbidden", "no")],
    ["cannot be read for now", "unreadable", () => buildStatus(500, "InternalError", "broken")],
    ["is of the year 2999", "unreadable", createLeaseAnswer(-30_000_000_000)],
    ["is someone else's", "unreadable", () => ({ body: '{"spec":{"holderIdentity":"me"}}' })],
    ["is rubbish", "unreadable", () => ({ body: "<html>" })],
    ["is another proxy's 404", "unreadable", () => ({ status: 404, body: "nginx" })],
  ] as const)("%s", async (_, lease, answer) => {
    const world = createSweptWorld();
    world.lease = answer;
    world.invoke = working(world);
    joined(world, 3);
    world.nodes.put("new", { ...TAINTED, ...JUST_NOW });
    expect(await world.sweep()).toMatchObject({ mode: "full", lease, listed: 4, reported: 4, overdue: 3 });
    expect(namesIn(world.events)).toEqual([["n0000", "n0001", "n0002", "new"]]);
    expect(world.requests).toEqual([GET_LEASE, LIST_NODES]);
  });
});

describe("a sweep of everything", () => {
  test("sends 250 nodes in batches of a hundred, with reason, cluster and floor of the budget", async () => {
    const world = createSweptWorld();
    world.invoke = working(world);
    joined(world, 250);
    expect(await world.sweep()).toMatchObject({ listed: 250, invocations: 3, reported: 250, unreported: 0 });
    expect(namesIn(world.events).map(({ length }) => length)).toEqual([100, 100, 50]);
    for (const { cluster, clusterHash, reason, budget } of world.events)
      expect({ cluster, clusterHash, reason, budget }).toEqual({
        ...{ cluster: "one", clusterHash: world.cluster.hash, reason: "sweep" },
        budget: undefined,
      });
    expect(new Set(world.events.map(({ id }) => id)).size).toBe(3);
  });

  test("looks at every node once in five minutes", async () => {
    const world = createSweptWorld();
    world.invoke = reporting();
    joined(world, 100, INITIALIZED);
    const first = toMinute(world.clock.wallTime().getTime());
    const looked: string[][] = [];
    for (let minute = first; minute < first + 5; minute += 1) {
      world.events.length = 0;
      await world.sweep({ minute });
      const uids = world.events.flatMap(({ objects }) => objects.map((object) => parseIdentity(object).uid));
      expect(uids.every((uid) => isRefreshTurn(uid, minute))).toBe(true);
      looked.push(uids);
    }
    expect(new Set(looked.flat()).size).toBe(100);
    expect(looked.flat()).toHaveLength(100);
  });

  test("sends work before looks", async () => {
    const world = createSweptWorld();
    world.invoke = reporting();
    joined(world, 300, INITIALIZED);
    world.nodes.put("z", TAINTED);
    await world.sweep();
    expect(namesIn(world.events)[0]).toEqual(["z"]);
  });

  test("does nothing of what is malformed, and the others go on", async () => {
    const world = createSweptWorld();
    world.invoke = working(world);
    world.nodes.put("bad", { spec: { taints: "none" } });
    joined(world, 2);
    expect(await world.sweep()).toMatchObject({ listed: 3, reported: 2 });
    expect(namesIn(world.events)).toEqual([["n0000", "n0001"]]);
  });

  test("of a cluster under a dry run asks for nothing", async () => {
    const world = createSweptWorld({ entry: { policies: { dryRun: true } } });
    joined(world, 3);
    expect(await world.sweep()).toMatchObject({ mode: "none", because: undefined });
    expect(world.requests).toEqual([]);
  });

  test("is for the controllers that the cluster has", async () => {
    const world = createSweptWorld({ entry: { controllers: ["csr-approver", "unheard-of"] } });
    joined(world, 3);
    await world.sweep();
    // Requests are decided on with the nodes that make them.
    expect(world.requests).toEqual([
      GET_LEASE,
      LIST_NODES,
      "GET /apis/certificates.k8s.io/v1/certificatesigningrequests",
    ]);
    expect(world.events).toEqual([]);
  });

  test("sends requests for certificates with the nodes that make them, and lists nodes once", async () => {
    const world = createSweptWorld({
      entry: { controllers: ["cloud-node-controller", "csr-approver"] },
    });
    world.invoke = reporting();
    world.nodes.put("node-a", { ...TAINTED, ...LONG_AGO });
    world.nodes.put("node-b", INITIALIZED);
    world.requestsOfLists.put("csr-1", {
      ...LONG_AGO,
      spec: {
        request: "LS0t",
        signerName: "kubernetes.io/kubelet-serving",
        usages: ["server auth"],
        username: "system:node:node-b",
        groups: ["system:nodes"],
      },
    });
    const minute = toMinute(world.clock.wallTime().getTime());
    expect(await world.sweep({ minute })).toMatchObject({ because: undefined });
    expect(world.requests.filter((request) => request === LIST_NODES)).toHaveLength(1);
    const csr = world.events.find(({ controller }) => controller === "csr-approver");
    expect(csr?.related?.["nodes"]?.items).toMatchObject([{ metadata: { name: "node-b" } }]);
  });

  test("sends Services that need work with the nodes and the other Services", async () => {
    const world = createSweptWorld({ entry: { controllers: ["service-lb-controller"] } });
    world.invoke = reporting(() => ({ outcome: "retry", because: { code: "NoPorts", message: "" } }));
    world.nodes.put("node-a", { spec: { providerID: "memory:///a/i-1" } });
    const metadata = { namespace: "default", ...LONG_AGO.metadata };
    world.services.put("wants", { metadata, spec: { type: "LoadBalancer" } });
    world.services.put("wants-none", { metadata, spec: { type: "ClusterIP" } });
    // It waits for its owner, and not for a relay.
    expect(await world.sweep()).toMatchObject({ because: undefined, invocations: 1, overdue: 0 });
    expect(namesIn(world.events)).toEqual([["wants"]]);
    expect(world.events[0]?.related).toMatchObject({
      nodes: { items: [{ name: "node-a", providerID: "memory:///a/i-1" }] },
      services: { items: [{ holds: false }] },
    });
  });

  test("sends the cluster as a whole with its nodes, if tags are maintained and no relay reports deleted nodes", async () => {
    const world = createSweptWorld({ entry: { controllers: ["tagging"], tagging: { tags: { team: "a" } } } });
    world.invoke = reporting();
    world.namespaces.put("kube-system", LONG_AGO);
    world.nodes.put("node-a", { ...LONG_AGO, spec: { providerID: "aws:///a/i-1" } });
    await world.sweep();
    expect(world.events).toMatchObject([
      {
        controller: "tagging",
        reason: "sweep",
        objects: [{ metadata: { name: "kube-system" } }],
        related: {
          nodes: { items: [{ metadata: { name: "node-a" }, spec: { providerID: "aws:///a/i-1" } }] },
        },
      },
    ]);
    world.lease = createLeaseAnswer(1_000);
    await world.sweep({ minute: findMinute("one", true, world.clock.wallTime().getTime()) });
    expect(world.events).toHaveLength(1);
  });

  test("counts undelivered Services as overdue", async () => {
    const world = createSweptWorld({ entry: { controllers: ["service-lb-controller"] } });
    world.invoke = reporting();
    const metadata = { namespace: "default", ...LONG_AGO.metadata };
    world.services.put("wants", { metadata, spec: { type: "LoadBalancer" } });
    expect(await world.sweep()).toMatchObject({ overdue: 1 });
  });

  test("sends no request for a certificate where the nodes are not all known", async () => {
    const world = createSweptWorld({ entry: { controllers: ["csr-approver"] } });
    world.requestsOfLists.put("csr-1", {
      spec: {
        ...{ request: "LS0t", signerName: "kubernetes.io/kubelet-serving", usages: ["server auth"] },
        ...{ username: "system:node:node-b", groups: ["system:nodes"] },
      },
    });
    world.nodes.next(createUnreachable("ConnectionLost"));
    expect(await world.sweep()).toMatchObject({ because: { code: "ConnectionLost" }, invocations: 0 });
    expect(await world.sweep()).toMatchObject({ invocations: 1 });
  });

  test("has one batch of a cluster in flight at a time, where they are decided together", async () => {
    const together = { ...nodeWatch, name: "together", scope: "batch" as const };
    const world = createSweptWorld({ watches: [together], entry: { controllers: ["together"] } });
    let running = 0;
    let peak = 0;
    world.invoke = async (event) => {
      running += 1;
      peak = Math.max(peak, running);
      await waitUntilQuiet();
      running -= 1;
      return reporting()(event);
    };
    joined(world, 450);
    expect(await world.sweep()).toMatchObject({ invocations: 5, reported: 450 });
    expect(peak).toBe(1);
  });
});

describe("the gap counts of nodes that wait for more than a minute", () => {
  test.each([
    ["those that were done now", { outcome: "changed" }, "Initialized", 2],
    ["those that were done just before", { outcome: "unchanged" }, "UpToDate", 2],
    ["those that the cloud's trouble keeps waiting", { outcome: "retry" }, "Unavailable", 2],
    ["those whose lookup is denied", { outcome: "retry" }, "Denied", 2],
    [
      "those that functions of another configuration refuse",
      { outcome: "retry" },
      "ClusterConfigurationDiffers",
      2,
    ],
    ["none without an instance", { outcome: "retry" }, "InstanceNotFound", 0],
    ["none that is someone else's", { outcome: "retry" }, "Foreign", 0],
    ["none whose own word is wrong", { outcome: "retry" }, "ProvidedNodeIPInvalid", 0],
    ["none that a policy leaves alone", { outcome: "skipped" }, "LabelsOnly", 0],
  ] as const)("%s", async (_, { outcome }, code, overdue) => {
    const world = createSweptWorld();
    world.invoke = reporting(() => ({ outcome, because: { code, message: "" } }));
    joined(world, 2);
    expect(await world.sweep()).toMatchObject({ overdue, reported: 2 });
  });

  test("those whose invocation failed, with the reason", async () => {
    const world = createSweptWorld();
    world.invoke = async () => ({ kind: "failed", code: "FunctionError", message: "boom", settleMs: 0 });
    joined(world, 2);
    const because = { code: "FunctionError", message: "boom" };
    expect(await world.sweep()).toMatchObject({ overdue: 2, reported: 0, unreported: 2, because });
  });

  test("those that a report does not name", async () => {
    const world = createSweptWorld();
    world.invoke = async (event) => {
      const report = buildReport(event);
      return { kind: "report", report: { ...report, objects: report.objects.slice(1) } };
    };
    joined(world, 2);
    expect(await world.sweep()).toMatchObject({ overdue: 2, unreported: 1, because: { code: "NotNamed" } });
  });
});

describe("trouble", () => {
  test("with the platform for a moment is waited out", async () => {
    const world = createSweptWorld();
    let refusals = 2;
    world.invoke = async (event) => {
      refusals -= 1;
      if (refusals >= 0) return { kind: "failed", code: "Throttled", message: "429", settleMs: 0 };
      return working(world)(event);
    };
    joined(world, 2);
    const sweeping = world.sweep();
    await world.clock.advance(10_000);
    expect(await sweeping).toMatchObject({ invocations: 3, reported: 2, because: undefined });
  });

  test("with the platform that lasts is reported after four attempts", async () => {
    const world = createSweptWorld();
    world.invoke = async () => ({ kind: "failed", code: "Throttled", message: "429", settleMs: 0 });
    joined(world, 2);
    const sweeping = world.sweep();
    await world.clock.advance(60_000);
    expect(await sweeping).toMatchObject({ invocations: 4, because: { code: "Throttled" } });
  });

  test("a function that may not be invoked is not tried again", async () => {
    const world = createSweptWorld();
    joined(world, 2);
    expect(await world.sweep()).toMatchObject({ invocations: 1, because: { code: "Denied" } });
  });

  test("an API server that does not answer gets no further request", async () => {
    const world = createSweptWorld();
    world.lease = () => Promise.reject(createUnreachable("ConnectTimedOut"));
    expect(await world.sweep()).toMatchObject({ lease: "unreachable", because: { code: "ConnectTimedOut" } });
    expect(world.requests).toEqual([GET_LEASE]);
  });

  test("a failed sign-in is reported for the cluster", async () => {
    const world = createSweptWorld();
    Object.defineProperty(world, "transport", {
      get() {
        throw new Error("no token");
      },
    });
    expect(await world.sweep()).toMatchObject({ because: { code: "SweepFailed", message: "no token" } });
  });

  test("a list that fails half-way leaves what was found done, and the rest to the next", async () => {
    const world = createSweptWorld();
    world.invoke = working(world);
    joined(world, 450);
    const send = world.transport.send.bind(world.transport);
    let pages = 0;
    Object.assign(world.transport, {
      send(request: Parameters<typeof send>[0]) {
        if (request.path.startsWith("/api/v1/nodes") && ++pages === 2)
          return Promise.reject(createUnreachable("ConnectionLost"));
        return send(request);
      },
    });
    expect(await world.sweep()).toMatchObject({
      listed: 200,
      reported: 200,
      because: { code: "ConnectionLost" },
    });
    expect(await world.sweep()).toMatchObject({ listed: 450, because: undefined });
  });

  test("one that is killed in the middle is followed by the next, which does the rest", async () => {
    const world = createSweptWorld();
    const ending = new AbortController();
    world.invoke = async (event) => {
      ending.abort();
      return working(world)(event);
    };
    joined(world, 450);
    expect(await world.sweep({ signal: ending.signal, giveUp: new AbortController().signal })).toMatchObject({
      because: { code: "DeadlineReached" },
    });
    expect(world.events.length).toBeLessThan(3);
    world.invoke = working(world);
    expect(await world.sweep()).toMatchObject({ because: undefined });
    expect(await world.sweep()).toMatchObject({ overdue: 0 });
  });

  test("two at once do everything, and nothing breaks", async () => {
    const world = createSweptWorld();
    world.invoke = working(world);
    joined(world, 250);
    const sweeps = await Promise.all([world.sweep(), world.sweep()]);
    for (const each of sweeps) expect(each).toMatchObject({ listed: 250, because: undefined });
    expect(await world.sweep()).toMatchObject({ overdue: 0 });
  });

  test("a server of more objects than the cluster's limits allow is not read on", async () => {
    const world = createSweptWorld({ entry: { limits: { objects: 100 } } });
    world.invoke = working(world);
    joined(world, 1_000);
    const sweep = await world.sweep();
    expect(sweep.because?.code).toBe("ClusterLimited");
    expect(sweep.listed).toBe(400);
  });
});
