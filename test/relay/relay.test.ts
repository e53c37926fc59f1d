import { readFile } from "node:fs/promises";
import { afterEach, describe, expect, test } from "vitest";
import { Cluster } from "#config/cluster.ts";
import { MAX_BATCH_BYTES } from "#core/event.ts";
import type { Node } from "#core/node/node.ts";
import { type Relay, startRelay } from "#relay/relay.ts";
import { createRelayMetrics, type RelayMetrics } from "#relay/report/metrics.ts";
import type { OutcomeLine } from "#relay/report/outcome-line.ts";
import { buildStatus, createFakeApi, createUnreachable, type FakeApi } from "#test/kube/apply/fake-api.ts";
import { createManualClock, type ManualClock, waitUntilQuiet } from "#test/kube/follow/manual-clock.ts";
import { expectLogLines } from "#test/log-lines.ts";
import {
  createFakeFunctions,
  type FakeFunctions,
  getFingerprintAfter,
  INITIALIZED,
  initialize,
  PROVIDER_ID,
  TAINTED,
} from "#test/relay/fake-functions.ts";
import { buildReport, parseIdentity } from "#test/relay/report-builders.ts";

interface World {
  readonly api: FakeApi;
  readonly functions: FakeFunctions;
  readonly clock: ManualClock;
  readonly relay: Relay;
  readonly lines: OutcomeLine[];
  readonly metrics: RelayMetrics;
}

const relays: Relay[] = [];
const logged: OutcomeLine[] = [];
afterEach(async () => {
  for (const relay of relays.splice(0)) await relay.close();
  expectLogLines(logged.splice(0));
});

const cluster = (name: string, more: object = {}): Cluster =>
  Cluster.parse({
    name,
    server: "https://fake.invalid",
    cloud: { provider: "memory", instancesFile: "/none" },
    controllers: ["cloud-node-controller"],
    ...more,
  });

interface Options {
  readonly prepare?: (api: FakeApi) => void;
  readonly limits?: object;
  readonly policies?: object;
  readonly refreshSeconds?: number;
  readonly random?: () => number;
}

async function start(options: Options = {}): Promise<World> {
  const api = createFakeApi();
  options.prepare?.(api);
  const clock = createManualClock();
  const functions = createFakeFunctions(api);
  const lines: OutcomeLine[] = [];
  const metrics = createRelayMetrics();
  const relay = startRelay({
    clusters: [
      {
        cluster: cluster("one", { limits: options.limits ?? {}, policies: options.policies ?? {} }),
        transport: api,
      },
    ],
    invoker: functions,
    identity: "test",
    nodeStatusUpdateFrequencySeconds: options.refreshSeconds ?? 100_000,
    metrics,
    onOutcome: (line) => logged.push(line) && lines.push(line),
    clock,
    random: options.random ?? (() => 0.5),
  });
  relays.push(relay);
  await clock.advance(0);
  return { api, functions, clock, relay, lines, metrics };
}

const namesOf = (functions: FakeFunctions): readonly (readonly string[])[] =>
  functions.events.map((event) => event.objects.map((object) => parseIdentity(object).name));
const sent = (functions: FakeFunctions, name: string): number =>
  namesOf(functions)
    .flat()
    .filter((each) => each === name).length;
const eventsOf = (lines: readonly OutcomeLine[], event: string): readonly OutcomeLine[] =>
  lines.filter((line) => line.event === event);

describe("a node that needs work", () => {
  test("is sent from the first list, with everything that a function needs to know", async () => {
    const { functions, clock, relay } = await start({ prepare: (api) => void api.put("a", TAINTED) });
    await clock.advance(100);
    expect(functions.events).toEqual([
      {
        version: 1,
        id: "one.test.1",
        cluster: "one",
        clusterHash: expect.stringMatching(/^[0-9a-f]{16}$/),
        controller: "cloud-node-controller",
        reason: "watch",
        objects: [expect.objectContaining({ metadata: expect.objectContaining({ name: "a" }) })],
        budget: { share: 1 },
        accountClusters: 1,
      },
    ]);
    expect(relay.status()[0]).toMatchObject({ needed: 0, inFlight: 0, invocations: 0, ready: true });
  });

  test("is sent once, within 50 ms after it joins", async () => {
    const { api, functions, clock } = await start();
    api.put("a", TAINTED);
    await clock.advance(50);
    expect(namesOf(functions)).toEqual([["a"]]);
    await clock.advance(10_000);
    expect(sent(functions, "a")).toBe(1);
  });

  test("is not sent if it got what it needed before its batch closed", async () => {
    const { api, functions, clock } = await start();
    api.put("a", TAINTED);
    api.put("a", INITIALIZED);
    await clock.advance(1_000);
    expect(functions.events).toEqual([]);
  });

  test("is sent in its last known state, not as first seen", async () => {
    const { api, functions, clock } = await start();
    api.put("a", TAINTED);
    api.put("a", { ...TAINTED, status: { addresses: [{ type: "Hostname", address: "a" }] } });
    await clock.advance(50);
    expect(functions.events[0]?.objects[0]).toMatchObject({ metadata: { resourceVersion: "102" } });
  });

  test("is not sent if it is deleted before its batch closed", async () => {
    const { api, functions, clock, relay } = await start();
    api.put("a", TAINTED);
    api.remove("a");
    await clock.advance(1_000);
    expect(functions.events).toEqual([]);
    expect(relay.status()[0]).toMatchObject({ objects: 0, needed: 0 });
  });

  test("is sent as a dry run under a dry run", async () => {
    const { functions, clock } = await start({
      prepare: (api) => void api.put("a", TAINTED),
      policies: { dryRun: true },
    });
    await clock.advance(100);
    expect(functions.events[0]).toMatchObject({ dryRun: true });
  });

  test("is reported if it is malformed, and the others continue", async () => {
    const { functions, clock, lines } = await start({
      prepare(api) {
        api.put("bad", { spec: { taints: "none" } });
        api.put("good", TAINTED);
      },
    });
    await clock.advance(100);
    expect(namesOf(functions)).toEqual([["good"]]);
    expect(eventsOf(lines, "MalformedObject")).toMatchObject([
      { name: "bad", faults: [{ path: "spec.taints" }] },
    ]);
  });

  test("is another node if only the name equals that of one in flight: it is sent itself", async () => {
    const { api, functions, clock, relay } = await start();
    functions.hold(true);
    api.put("a", { ...TAINTED, uid: "first" });
    await clock.advance(50);
    api.put("a", { ...TAINTED, uid: "second" });
    await clock.advance(50);
    expect(functions.events.map((event) => parseIdentity(event.objects[0]).uid)).toEqual(["first", "second"]);
    functions.behave((event) => ({ kind: "report", report: buildReport(event) }));
    api.remove("a");
    functions.hold(false);
    await clock.advance(50);
    expect(relay.status()[0]).toMatchObject({ objects: 0, needed: 0, inFlight: 0 });
  });
});

describe("batches", () => {
  test.each([
    { slots: 1, busy: [false, false] },
    { slots: 2, busy: [false, true] },
  ])(
    "report that they take the last of $slots permits, if there is more than one",
    async ({ slots, busy }) => {
      const { api, functions, clock } = await start({ limits: { invocations: slots } });
      functions.hold(slots > 1);
      for (const name of ["a", "b"]) {
        api.put(name, TAINTED);
        await clock.advance(200);
      }
      expect(functions.events.map((event) => event.busy ?? false)).toEqual(busy);
      functions.hold(false);
    },
  );

  test("of 250 nodes at once are three, with at most 100 objects each", async () => {
    const { functions, clock } = await start({
      prepare(api) {
        for (let index = 0; index < 250; index += 1) api.put(`n${index}`, TAINTED);
      },
    });
    await clock.advance(50);
    expect(namesOf(functions).map((names) => names.length)).toEqual([100, 100, 50]);
    // Other nodes waited behind the first two; after the last one a permit was free and no node waited.
    expect(functions.events.map(({ busy }) => busy ?? false)).toEqual([true, true, false]);
  });

  test("close at 200 KB", async () => {
    const address = { type: "InternalDNS", address: "x".repeat(30_000) };
    const { functions, clock } = await start({
      prepare(api) {
        for (let index = 0; index < 12; index += 1)
          api.put(`n${index}`, { ...TAINTED, status: { addresses: [address] } });
      },
    });
    await clock.advance(50);
    expect(namesOf(functions).map((names) => names.length)).toEqual([6, 6]);
    for (const { objects } of functions.events)
      expect(JSON.stringify(objects).length).toBeLessThanOrEqual(MAX_BATCH_BYTES);
  });

  test("carry an oversized node alone, and leave out one larger than any event", async () => {
    const sized = (bytes: number) => ({
      ...TAINTED,
      status: { addresses: [{ type: "x", address: "x".repeat(bytes) }] },
    });
    const { functions, clock, relay } = await start({
      prepare(api) {
        api.put("small", TAINTED);
        api.put("large", sized(300_000));
        api.put("huge", sized(1_600_000));
        api.put("last", TAINTED);
      },
    });
    await clock.advance(1_000);
    expect(namesOf(functions)).toEqual([["small"], ["large"], ["last"]]);
    expect(relay.status()[0]?.limited).toMatchObject([{ limit: "objects" }]);
  });

  test("are shared by nodes that join one after another, for 50 ms at most", async () => {
    const { api, functions, clock } = await start();
    for (let index = 0; index < 15; index += 1) {
      api.put(`n${index}`, TAINTED);
      await clock.advance(4);
    }
    await clock.advance(50);
    expect(namesOf(functions).map((names) => names.length)).toEqual([13, 2]);
  });

  test("are at most four in flight; what comes meanwhile gathers in one", async () => {
    const { api, functions, clock } = await start();
    functions.hold(true);
    for (let index = 0; index < 40; index += 1) {
      api.put(`n${index}`, TAINTED);
      await clock.advance(60);
    }
    expect([functions.running(), namesOf(functions).flat().length]).toEqual([4, 4]);
    functions.release();
    await clock.advance(0);
    expect(namesOf(functions).map((names) => names.length)).toEqual([1, 1, 1, 1, 36]);
    functions.hold(false);
    await clock.advance(1_000);
    expect([functions.peak(), functions.overlaps(), namesOf(functions).flat().length]).toEqual([4, 1, 40]);
  });

  test("respect the cluster's own limit", async () => {
    const { api, functions, clock } = await start({ limits: { invocations: 2 } });
    functions.hold(true);
    for (let index = 0; index < 500; index += 1) api.put(`n${index}`, TAINTED);
    await clock.advance(1_000);
    expect(functions.running()).toBe(2);
    functions.hold(false);
    await clock.advance(1_000);
    expect([functions.peak(), namesOf(functions).flat().length]).toEqual([2, 500]);
  });

  test("have event ids that never repeat", async () => {
    const { functions, clock } = await start({
      prepare(api) {
        for (let index = 0; index < 900; index += 1) api.put(`n${index}`, TAINTED);
      },
    });
    await clock.advance(1_000);
    expect(new Set(functions.events.map((event) => event.id)).size).toBe(9);
  });
});

describe("a report", () => {
  test("with retry makes the object due after its seconds, with the reason retry", async () => {
    const { api, functions, clock } = await start();
    functions.behave((event) =>
      functions.events.length > 1
        ? "work"
        : { kind: "report", report: buildReport(event, () => ({ outcome: "retry", afterSeconds: 20 })) },
    );
    api.put("a", TAINTED);
    await clock.advance(19_000);
    expect(functions.events).toHaveLength(1);
    await clock.advance(4_000);
    expect(functions.events.map((event) => event.reason)).toEqual(["watch", "retry"]);
  });

  test("with retry after 0 seconds causes no storm", async () => {
    const { api, functions, clock } = await start();
    functions.behave((event) => ({
      kind: "report",
      report: buildReport(event, () => ({ outcome: "retry", afterSeconds: 0 })),
    }));
    api.put("a", TAINTED);
    await clock.advance(10_000);
    expect(functions.events.length).toBeLessThan(41);
  });

  test("with retry keeps its delay despite heartbeats of the node", async () => {
    const { api, functions, clock } = await start();
    functions.behave((event) => ({
      kind: "report",
      report: buildReport(event, () => ({ outcome: "retry", afterSeconds: 60 })),
    }));
    api.put("a", TAINTED);
    for (let second = 0; second < 50; second += 1) {
      await clock.advance(1_000);
      api.put("a", TAINTED);
    }
    expect(functions.events).toHaveLength(1);
  });

  test("with retry is followed at once by a change of a field that decisions read", async () => {
    const { api, functions, clock } = await start();
    functions.behave((event) => ({
      kind: "report",
      report: buildReport(event, () => ({ outcome: "retry", afterSeconds: 600 })),
    }));
    api.put("a", TAINTED);
    await clock.advance(5_000);
    api.put("a", { ...TAINTED, spec: { ...TAINTED.spec, providerID: PROVIDER_ID } });
    await clock.advance(100);
    expect(functions.events).toHaveLength(2);
  });

  test("makes objects due again that it does not name, and only these", async () => {
    const { functions, clock } = await start({
      prepare(api) {
        api.put("named", TAINTED);
        api.put("unnamed", TAINTED);
      },
    });
    await clock.advance(0);
    functions.behave((event) => {
      const report = buildReport(event, () => ({ outcome: "retry", afterSeconds: 500 }));
      return {
        kind: "report",
        report: { ...report, objects: report.objects.filter(({ name }) => name === "named") },
      };
    });
    await clock.advance(60_000);
    expect(sent(functions, "named")).toBe(1);
    expect(sent(functions, "unnamed")).toBeGreaterThan(3);
  });

  test.each([
    { given: "with another uid at the index", change: { uid: "other" } },
    { given: "with an unknown index", change: { index: 7 } },
  ])("with an entry $given names no object", async ({ change }) => {
    const { api, functions, clock } = await start();
    functions.behave((event) => {
      const report = buildReport(event, () => ({ outcome: "retry", afterSeconds: 500 }));
      return {
        kind: "report",
        report: { ...report, objects: report.objects.map((object) => ({ ...object, ...change })) },
      };
    });
    api.put("a", TAINTED);
    await clock.advance(5_000);
    expect(functions.events.length).toBeGreaterThan(1);
  });

  test("with done, while the node still needs work, is checked again more and more rarely", async () => {
    const { api, functions, clock } = await start();
    functions.behave((event) => ({ kind: "report", report: buildReport(event) }));
    api.put("a", TAINTED);
    await clock.advance(3_600_000);
    expect(functions.events.length).toBeGreaterThan(8);
    expect(functions.events.length).toBeLessThan(25);
  });

  test.each(["Unreachable", "Throttled", "FunctionError", "BadReport", "Denied"])(
    "that is missing (%s) makes the object due after 250 ms to 30 s, until it works",
    async (code) => {
      const { api, functions, clock } = await start({ random: () => 0.999 });
      functions.behave(() =>
        functions.events.length > 12 ? "work" : { kind: "failed", code, message: "no", settleMs: 0 },
      );
      api.put("a", TAINTED);
      await clock.advance(250);
      expect(functions.events).toHaveLength(1);
      await clock.advance(360_000);
      expect(functions.events.filter((event) => event.reason !== "refresh")).toHaveLength(13);
    },
  );

  test("that is missing after a timeout leaves the objects in flight until the function must have ended", async () => {
    const { api, functions, clock, relay } = await start();
    functions.behave(() =>
      functions.events.length > 1
        ? "work"
        : { kind: "failed", code: "TimedOut", message: "no", settleMs: 8_000 },
    );
    api.put("a", TAINTED);
    await clock.advance(7_900);
    expect([functions.events.length, relay.status()[0]?.inFlight, relay.status()[0]?.invocations]).toEqual([
      1, 1, 0,
    ]);
    await clock.advance(1_500);
    expect([functions.events.length, relay.status()[0]?.inFlight]).toEqual([2, 0]);
  });
});

describe("versions", () => {
  test("in a report before the watch: older ones are dropped, and the node is not sent again", async () => {
    const { api, functions, clock, relay } = await start();
    api.put("a", TAINTED);
    await clock.advance(0);
    api.hold(true);
    api.put("a", { ...TAINTED, metadata: { annotations: { beat: "1" } } });
    await clock.advance(1_000);
    expect([functions.events.length, relay.status()[0]?.needed]).toEqual([1, 0]);
    api.hold(false);
    await clock.advance(1_000);
    expect([functions.events.length, relay.status()[0]?.needed]).toEqual([1, 0]);
  });

  test("that the watch does not show within 5 s: the node is read, and sent only if it needs work", async () => {
    const { api, functions, clock } = await start();
    api.put("a", TAINTED);
    await clock.advance(0);
    api.hold(true);
    await clock.advance(4_900);
    expect(api.lists).toHaveLength(1);
    await clock.advance(500);
    expect(api.lists.at(-1)).toContain("fieldSelector=metadata.name%3Da");
    await clock.advance(10_000);
    expect([functions.events.length, api.lists.length]).toEqual([1, 2]);
  });

  test("whose read fails are read again", async () => {
    const { api, functions, clock, lines } = await start();
    api.put("a", TAINTED);
    await clock.advance(0);
    api.hold(true);
    await clock.advance(1_000);
    api.next(createUnreachable("TimedOut"));
    await clock.advance(10_000);
    expect([api.lists.length, eventsOf(lines, "ReadFailed").length, functions.events.length]).toEqual([
      3, 1, 1,
    ]);
  });

  test("after a reset of the store: nodes are taken as they are now", async () => {
    const { api, functions, clock } = await start({
      prepare: (fake) => void fake.put("a", { ...TAINTED, uid: "u" }),
    });
    await clock.advance(1_000);
    expect(functions.events).toHaveLength(1);
    await clock.advance(80_000);
    api.endWatches();
    api.restore(50);
    api.put("a", { ...TAINTED, uid: "u" });
    await clock.advance(120_000);
    expect(functions.events.map((event) => event.reason)).toEqual(["watch", "refresh", "watch"]);
    expect(functions.overlaps()).toBe(1);
  });
});

describe("a taint that returns", () => {
  test("is removed more and more slowly, and its writer is reported once", async () => {
    const { api, functions, clock, lines } = await start();
    const managedFields = [
      { manager: "serverless-ccm", time: "2026-01-01T00:00:00Z", fieldsV1: { "f:spec": { "f:taints": {} } } },
      {
        manager: "other-controller",
        time: "2026-01-01T00:00:01Z",
        fieldsV1: { "f:spec": { "f:taints": {} } },
      },
      { manager: "kubelet", time: "2026-01-01T00:00:02Z", fieldsV1: { "f:status": {} } },
    ];
    functions.behave(() => {
      queueMicrotask(() => api.put("a", { ...TAINTED, metadata: { managedFields } }));
      return "work";
    });
    api.put("a", TAINTED);
    await clock.advance(3_600_000);
    expect(functions.events.length).toBeGreaterThan(10);
    expect(functions.events.length).toBeLessThan(25);
    expect(eventsOf(lines, "WorkUndone")).toMatchObject([
      { name: "a", rounds: 3, manager: "other-controller" },
    ]);
    const told = functions.events.map((event) => Object.values(event.hints ?? {})[0]?.undoneBy);
    expect(told.slice(0, 3)).toEqual([undefined, undefined, undefined]);
    expect(new Set(told.slice(3))).toEqual(new Set(["other-controller"]));
  });

  test("after more than a minute starts from the beginning", async () => {
    const { api, functions, clock, lines } = await start();
    for (let round = 0; round < 5; round += 1) {
      api.put("a", TAINTED);
      await clock.advance(100);
      expect(functions.events.filter((event) => event.reason === "watch")).toHaveLength(round + 1);
      await clock.advance(70_000);
    }
    expect(eventsOf(lines, "WorkUndone")).toEqual([]);
  });
});

describe("resyncs of initialized nodes", () => {
  test.each([{ random: 0 }, { random: 0.999 }])(
    "run once more, 20 to 60 s after initialization ($random)",
    async ({ random }) => {
      const { api, functions, clock } = await start({ random: () => random });
      api.put("a", TAINTED);
      await clock.advance(19_900);
      expect(functions.events).toHaveLength(1);
      functions.behave((event) => ({ kind: "report", report: buildReport(event) }));
      await clock.advance(41_000);
      expect(functions.events.map((event) => event.reason)).toEqual(["watch", "refresh"]);
      expect(functions.events[1]?.objects).toMatchObject([{ spec: { providerID: PROVIDER_ID } }]);
      await clock.advance(300_000);
      expect(functions.events).toHaveLength(2);
    },
  );

  test.each([
    { given: "addresses", fields: { status: { addresses: [{ type: "InternalIP", address: "10.9.9.9" }] } } },
    { given: "provider ID", fields: { spec: { providerID: "aws:///x/i-1" } } },
    {
      given: "provided node IP",
      fields: { metadata: { annotations: { "alpha.kubernetes.io/provided-node-ip": "10.0.0.1" } } },
    },
  ])("run at once when the $given changes, and at most once a minute", async ({ fields }) => {
    const { api, functions, clock } = await start({ prepare: (fake) => void fake.put("a", INITIALIZED) });
    functions.behave((event) => ({ kind: "report", report: buildReport(event) }));
    api.put("a", fields);
    await clock.advance(100);
    expect(functions.events.map((event) => event.reason)).toEqual(["refresh"]);
    for (let second = 0; second < 120; second += 1) {
      api.put("a", {
        metadata: { annotations: { "alpha.kubernetes.io/provided-node-ip": `10.0.0.${second}` } },
      });
      await clock.advance(1_000);
    }
    expect(functions.events.length).toBeGreaterThan(1);
    expect(functions.events.length).toBeLessThan(5);
  });

  test("do not run for heartbeats", async () => {
    const { api, functions, clock } = await start({ prepare: (fake) => void fake.put("a", INITIALIZED) });
    for (let beat = 0; beat < 100; beat += 1) {
      api.put("a", { metadata: { annotations: { beat: String(beat) } } });
      await clock.advance(1_000);
    }
    expect(functions.events).toEqual([]);
  });

  test("do not run after a change to what we wrote", async () => {
    const { api, functions, clock } = await start({ prepare: (fake) => void fake.put("a", INITIALIZED) });
    const repaired = { type: "InternalIP", address: "10.7.7.7" };
    functions.behave((event) => {
      const node = event.objects[0] as Node;
      const { name, uid } = node.metadata;
      const { metadata } = api.put(name, { uid, status: { addresses: [repaired] } });
      const seen = getFingerprintAfter(node, PROVIDER_ID, [repaired]);
      return {
        kind: "report",
        report: buildReport(event, () => ({
          outcome: "changed",
          resourceVersion: metadata.resourceVersion,
          seen,
        })),
      };
    });
    api.put("a", { status: { addresses: [] } });
    await clock.advance(200_000);
    expect(functions.events.map((event) => event.reason)).toEqual(["refresh"]);
  });

  test("run for all of them once in every interval, in pages, behind nodes that need work", async () => {
    const { api, functions, clock } = await start({
      refreshSeconds: 300,
      prepare(fake) {
        for (let index = 0; index < 1_200; index += 1) fake.put(`n${index}`, INITIALIZED);
      },
    });
    functions.behave((event) => {
      if (event.reason !== "refresh") return "work";
      return { kind: "report", report: buildReport(event) };
    });
    await clock.advance(160_000);
    const looked = functions.events.filter((event) => event.reason === "refresh");
    expect(new Set(namesOf(functions).flat()).size).toBe(1_200);
    expect(looked).toHaveLength(12);
    await clock.advance(300_000);
    expect(namesOf(functions).flat()).toHaveLength(2_400);
    expect(api.openWatches()).toBe(1);
  });

  test("reach the end of a list whose continue tokens live shorter than a pass", async () => {
    const { api, functions, clock } = await start({
      refreshSeconds: 300,
      prepare(fake) {
        for (let index = 0; index < 1_200; index += 1) fake.put(`n${index}`, INITIALIZED);
      },
    });
    functions.behave((event) => {
      api.expireTokens();
      return { kind: "report", report: buildReport(event) };
    });
    await clock.advance(160_000);
    expect(new Set(namesOf(functions).flat()).size).toBe(1_200);
  });

  test("break off where each token is answered with another one", async () => {
    const { api, functions, clock } = await start({
      refreshSeconds: 300,
      prepare(fake) {
        for (let index = 0; index < 1_200; index += 1) fake.put(`n${index}`, INITIALIZED);
      },
    });
    const before = api.lists.length;
    api.expireEveryToken();
    await clock.advance(160_000);
    expect(new Set(namesOf(functions).flat()).size).toBe(500);
    // The watch's own list restarts instead.
    const kinds = api.lists.slice(before).map((path) => (path.includes("continue=") ? "next" : "first"));
    expect(kinds.join(" ")).toContain("first next next");
    expect(kinds.join(" ")).not.toContain("next next next");
  });

  test("never take the last permit: a node that joins meanwhile is sent at once", async () => {
    const { api, functions, clock } = await start({
      refreshSeconds: 60,
      prepare(fake) {
        for (let index = 0; index < 1_200; index += 1) fake.put(`n${index}`, INITIALIZED);
      },
    });
    functions.hold(true);
    while (functions.running() === 0) await clock.advance(100);
    // Shorter than an invocation that counts as slow.
    await clock.advance(4_500);
    expect(functions.running()).toBe(3);
    api.put("new", TAINTED);
    await clock.advance(50);
    expect(functions.events.at(-1)).toMatchObject({
      reason: "watch",
      objects: [{ metadata: { name: "new" } }],
    });
    functions.hold(false);
    await waitUntilQuiet();
  });

  test("are given up after three failures", async () => {
    const { api, functions, clock } = await start({ prepare: (fake) => void fake.put("a", INITIALIZED) });
    functions.behave(() => ({ kind: "failed", code: "FunctionError", message: "no", settleMs: 0 }));
    api.put("a", { status: { addresses: [] } });
    await clock.advance(600_000);
    expect(functions.events).toHaveLength(3);
  });
});

describe("several clusters", () => {
  test("are independent: a problem of one delays no other", async () => {
    const clock = createManualClock();
    const [broken, slow, fine] = [createFakeApi(), createFakeApi(), createFakeApi()];
    broken.next(...Array.from({ length: 500 }, () => createUnreachable("ConnectionRefused")));
    for (let index = 0; index < 800; index += 1) slow.put(`s${index}`, TAINTED);
    const stuck = createFakeFunctions(slow);
    stuck.hold(true);
    const working = createFakeFunctions(fine);
    const relay = startRelay({
      clusters: [
        { cluster: cluster("broken"), transport: broken },
        { cluster: cluster("slow"), transport: slow },
        { cluster: cluster("fine"), transport: fine },
      ],
      invoker: {
        invoke: (event, signal) => (event.cluster === "slow" ? stuck : working).invoke(event, signal),
        close: () => Promise.resolve(),
      },
      identity: "test",
      nodeStatusUpdateFrequencySeconds: 300,
      clock,
      random: () => 0.5,
    });
    relays.push(relay);
    await clock.advance(5_000);
    fine.put("a", TAINTED);
    await clock.advance(50);
    expect(namesOf(working)).toEqual([["a"]]);
    expect(["broken", "slow", "fine", "unknown"].map((name) => relay.ready(name))).toEqual([
      false,
      true,
      true,
      false,
    ]);
    expect(relay.ready()).toBe(false);
    stuck.hold(false);
    await waitUntilQuiet();
  });

  test("are named when they flood the log, limited, and take no other's lines", async () => {
    const clock = createManualClock();
    const [loud, quietOne] = [createFakeApi(), createFakeApi()];
    const lines: OutcomeLine[] = [];
    const metrics = createRelayMetrics();
    const relay = startRelay({
      clusters: [
        { cluster: cluster("loud"), transport: loud },
        { cluster: cluster("quiet"), transport: quietOne },
      ],
      invoker: createFakeFunctions(loud),
      identity: "test",
      nodeStatusUpdateFrequencySeconds: 100_000,
      metrics,
      onOutcome: (line) => lines.push(line),
      clock,
      random: () => 0.5,
    });
    relays.push(relay);
    await clock.advance(0);
    for (let second = 0; second < 60; second += 1) {
      for (let index = 0; index < 50; index += 1)
        loud.put("bad\u001B\u202E\n", { spec: { taints: `${second} ${index}` } });
      quietOne.put("bad", { spec: { taints: second } });
      await clock.advance(1_000);
    }
    const of = (name: string) => lines.filter((line) => line.cluster === name);
    expect(eventsOf(of("quiet"), "MalformedObject")).toHaveLength(60);
    expect(of("loud").length).toBeLessThan(10 * 70 + 10);
    expect(eventsOf(of("loud"), "ClusterLimited")).toMatchObject([{ limit: "logLines" }]);
    expect(of("loud").find(({ event }) => event === "MalformedObject")).toMatchObject({
      name: "bad\\u{001B}\\u{202E}\\u{000A}",
    });
    const limitsOf = () => relay.status().map(({ limited }) => limited.map(({ limit }) => limit));
    expect(limitsOf()).toEqual([["logLines"], []]);
    expect((await metrics.text()).split("\n")).toEqual(
      expect.arrayContaining([
        'serverless_ccm_cluster_limited{cluster="loud",limit="logLines"} 1',
        'serverless_ccm_cluster_limits_total{cluster="loud",limit="logLines"} 1',
      ]),
    );
    await clock.advance(10_000);
    expect(limitsOf()).toEqual([[], []]);
    const leftOut = eventsOf(of("loud"), "LogLimited").map((line) => Number(line["leftOut"]));
    const written = eventsOf(of("loud"), "MalformedObject").length;
    expect(leftOut.reduce((sum, each) => sum + each, written)).toBe(60 * 50);
    expect(await metrics.text()).toContain(
      `serverless_ccm_log_lines_left_out_total{cluster="loud"} ${60 * 50 - written}`,
    );
    expectLogLines(lines);
  });

  test("a delivery makes room for one that waits for the account", async () => {
    const clock = createManualClock();
    const [one, two] = [createFakeApi(), createFakeApi()];
    const functions = [createFakeFunctions(one), createFakeFunctions(two)] as const;
    for (const each of functions) each.hold(true);
    const relay = startRelay({
      // This account has room for one invocation beyond the first of each cluster.
      clusters: [one, two].map((transport, index) => ({
        cluster: cluster(index === 0 ? "one" : "two", { limits: { floorShare: 1 } }),
        transport,
      })),
      invoker: {
        invoke: (event, signal) => functions[event.cluster === "one" ? 0 : 1].invoke(event, signal),
        close: () => Promise.resolve(),
      },
      identity: "test",
      nodeStatusUpdateFrequencySeconds: 100_000,
      clock,
      random: () => 0.5,
    });
    relays.push(relay);
    await clock.advance(0);
    for (const api of [one, one, two, two]) {
      api.put(`n${api.version()}`, TAINTED);
      await clock.advance(1_000);
    }
    expect(functions.map(({ events }) => events.length)).toEqual([2, 1]);
    functions[0].release();
    await clock.advance(0);
    expect(functions.map(({ events }) => events.length)).toEqual([2, 2]);
    for (const each of functions) each.hold(false);
  });

  test.each([
    ["other", "/another"],
    ["the same", "/none"],
  ])("a delivery wakes no cluster that uses %s quotas and waits for nothing", async (_, instancesFile) => {
    const looksOf = async (others: number): Promise<number> => {
      const clock = createManualClock();
      let looks = 0;
      const counting = {
        ...clock,
        now: () => {
          looks += 1;
          return clock.now();
        },
      };
      const api = createFakeApi();
      const functions = createFakeFunctions(api);
      const cloud = { provider: "memory", instancesFile };
      const relay = startRelay({
        clusters: [
          { cluster: cluster("one"), transport: api },
          ...Array.from({ length: others }, (__, index) => ({
            cluster: cluster(`other-${index}`, { cloud }),
            transport: createFakeApi(),
          })),
        ],
        invoker: functions,
        identity: "test",
        nodeStatusUpdateFrequencySeconds: 100_000,
        clock: counting,
        random: () => 0.5,
      });
      relays.push(relay);
      await clock.advance(5_000);
      looks = 0;
      api.put("a", TAINTED);
      await clock.advance(200);
      expect(namesOf(functions)).toEqual([["a"]]);
      return looks;
    };
    // A cluster that is woken reads the clock.
    expect(await looksOf(8)).toBe(await looksOf(0));
  });
});

test("waiting nodes are counted by reason and age, until they are shown to be done", async () => {
  const { api, functions, clock, metrics } = await start();
  const tainted = async () =>
    (await metrics.text()).split("\n").filter((line) => line.startsWith("serverless_ccm_tainted_nodes{"));
  const because = { code: "InstanceNotFound", message: "none" };
  functions.behave((event) => ({
    kind: "report",
    report: buildReport(event, () => ({ outcome: "retry", because, afterSeconds: 600 })),
  }));
  api.put("a", TAINTED);
  api.put("b", TAINTED);
  await clock.advance(1_000);
  expect(await tainted()).toEqual([
    expect.stringMatching(/\{cluster="one",reason="InstanceNotFound",age="\w+"\} 2$/),
  ]);
  api.put("a", { spec: {} });
  await clock.advance(700_000);
  expect(await tainted()).toEqual([
    'serverless_ccm_tainted_nodes{cluster="one",reason="InstanceNotFound",age="ge10m"} 1',
  ]);
  api.remove("b");
  await clock.advance(1_000);
  expect(await tainted()).toEqual([]);
});

describe("a changing set of clusters", () => {
  test("follows an added cluster, and a removed one no more", async () => {
    const { api, functions, clock, relay, metrics } = await start();
    const second = createFakeApi();
    expect(await metrics.text()).toContain(
      'serverless_ccm_lists_total{cluster="one",resource="nodes",cause="start"} 1',
    );
    relay.add({ cluster: cluster("two"), transport: second });
    second.put("b", TAINTED);
    await clock.advance(100);
    expect([namesOf(functions)[0], relay.ready("two")]).toEqual([["b"], true]);
    await relay.remove("one", new AbortController().signal);
    expect(relay.status().map(({ name }) => name)).toEqual(["two"]);
    expect([api.openWatches(), second.openWatches()]).toEqual([0, 1]);
    api.put("a", TAINTED);
    await clock.advance(10_000);
    expect(new Set(functions.events.map((event) => event.cluster))).toEqual(new Set(["two"]));
    expect(await metrics.text()).not.toContain('cluster="one"');
    expect(await metrics.text()).toContain(
      'serverless_ccm_due_to_report_seconds_count{cluster="two",controller="cloud-node-controller"}',
    );
  });

  test("lets a removed one finish what is in flight, starts nothing, and then closes its transport", async () => {
    const closed: string[] = [];
    const { functions, clock, relay } = await start();
    const api = createFakeApi();
    const transport = { ...api, close: async () => void closed.push("two") };
    relay.add({ cluster: cluster("two"), transport });
    functions.hold(true);
    api.put("a", TAINTED);
    await clock.advance(50);
    const removed = relay.remove("two", new AbortController().signal);
    api.put("b", TAINTED);
    await clock.advance(1_000);
    expect([closed, functions.running()]).toEqual([[], 1]);
    functions.hold(false);
    await removed;
    expect([closed, namesOf(functions)]).toEqual([["two"], [["a"]]]);
  });

  test("waits for a removed one until the signal fires", async () => {
    const { api, functions, clock, relay } = await start();
    functions.hold(true);
    api.put("a", TAINTED);
    await clock.advance(50);
    await relay.remove("one", AbortSignal.abort());
    expect(relay.status()).toEqual([]);
    functions.hold(false);
  });

  test("may contain a removed one again, whose events have ids of their own", async () => {
    const { api, functions, clock, relay } = await start({ prepare: (fake) => void fake.put("a", TAINTED) });
    await clock.advance(100);
    await relay.remove("one", new AbortController().signal);
    relay.add({ cluster: cluster("one"), transport: api });
    api.put("b", TAINTED);
    await clock.advance(100);
    expect(functions.events.map(({ id }) => id)).toEqual(["one.test.1", "one.test.2"]);
  });

  test("rejects two of one name", async () => {
    const { relay } = await start();
    expect(() => relay.add({ cluster: cluster("one"), transport: createFakeApi() })).toThrow(
      "followed already",
    );
  });

  test("reports one that cannot be followed as not ready, with the reason; the others are not affected", async () => {
    const { relay, metrics } = await start();
    const fault = { code: "FileUnreadable", message: "there is no token" };
    relay.setConfigurationFault("two", fault);
    expect(relay.status()).toMatchObject([
      { name: "one", ready: true, configurationFault: undefined },
      { name: "two", ready: false, failure: fault, configurationFault: fault },
    ]);
    expect(["one", "two", undefined].map((name) => relay.ready(name))).toEqual([true, false, false]);
    expect(await metrics.text()).toContain('serverless_ccm_cluster_ready{cluster="two"} 0');
    relay.setConfigurationFault("one", fault);
    expect(relay.status()[0]).toMatchObject({ name: "one", ready: true, configurationFault: fault });
    for (const name of ["one", "two"]) relay.setConfigurationFault(name, undefined);
    expect(relay.status()).toMatchObject([{ name: "one", configurationFault: undefined }]);
  });
});

describe("readiness", () => {
  test("follows the list and the watch, and reports what is wrong", async () => {
    const { api, clock, relay } = await start({
      prepare: (fake) => fake.next(buildStatus(403, "Forbidden", "no list for you")),
    });
    expect([relay.ready(), relay.status()[0]?.failure?.code]).toEqual([false, "Forbidden"]);
    await clock.advance(30_000);
    expect([relay.ready(), relay.status()[0]?.failure]).toEqual([true, undefined]);
    api.endWatches();
    await clock.advance(1_000);
    expect([relay.ready(), api.openWatches()]).toEqual([true, 1]);
    api.next(createUnreachable("ConnectionRefused"));
    api.breakWatches();
    await clock.advance(100);
    expect([relay.ready(), relay.status()[0]?.failure?.code]).toEqual([false, "ConnectionLost"]);
    await clock.advance(60_000);
    expect(relay.ready()).toBe(true);
  });
});

describe("the end of a relay", () => {
  test("with drain: what is in flight finishes, nothing new starts", async () => {
    const { api, functions, clock, relay } = await start();
    functions.hold(true);
    api.put("a", TAINTED);
    await clock.advance(50);
    const draining = relay.drain(new AbortController().signal);
    api.put("b", TAINTED);
    await clock.advance(1_000);
    functions.hold(false);
    expect(await draining).toBe(true);
    await clock.advance(60_000);
    expect([namesOf(functions), api.openWatches(), relay.ready()]).toEqual([[["a"]], 0, false]);
  });

  test("with drain is bounded by its signal", async () => {
    const { api, functions, clock, relay } = await start();
    functions.hold(true);
    api.put("a", TAINTED);
    await clock.advance(50);
    const limit = new AbortController();
    const draining = relay.drain(limit.signal);
    limit.abort();
    expect(await draining).toBe(false);
    functions.hold(false);
  });

  test("with drain is immediate if nothing is in flight", async () => {
    const { relay } = await start();
    expect(await relay.drain(new AbortController().signal)).toBe(true);
  });
});

test("by a crash loses nothing: a new relay sends what is still needed", async () => {
  const first = await start();
  first.functions.hold(true);
  first.api.put("a", TAINTED);
  await first.clock.advance(50);
  await first.relay.close();
  const functions = createFakeFunctions(first.api);
  const relay = startRelay({
    clusters: [{ cluster: cluster("one"), transport: first.api }],
    invoker: functions,
    identity: "second",
    nodeStatusUpdateFrequencySeconds: 300,
    clock: first.clock,
    random: () => 0.5,
  });
  relays.push(relay);
  await first.clock.advance(100);
  expect(namesOf(functions)).toEqual([["a"]]);
  first.functions.hold(false);
});

test("throttling by the cloud makes the next shares smaller", async () => {
  const { api, functions, clock } = await start();
  functions.behave((event) => {
    const report = buildReport(event, (index) => initialize(api, event.objects[index]));
    return {
      kind: "report",
      report: { ...report, usage: { ...report.usage, cloud: { calls: {}, throttled: 1, waitedMs: 0 } } },
    };
  });
  for (const name of ["a", "b", "c"]) {
    api.put(name, TAINTED);
    await clock.advance(2_000);
  }
  const shares = functions.events.map((event) => event.budget?.share ?? 0);
  expect(shares[0]).toBe(1);
  expect(shares[1]).toBeLessThan(0.55);
  expect(shares[2]).toBeLessThan(0.3);
  expect(shares[2]).toBeGreaterThanOrEqual(0.25);
});

describe("the delays of the stock controller", () => {
  const JOINED = "node_controller_initial_node_sync_delay_seconds";
  const TAINT = "node_controller_cloud_provider_taint_removal_delay_seconds";
  const sums = async (metrics: RelayMetrics): Promise<Readonly<Record<string, number>>> => {
    const rows = (await metrics.text()).matchAll(/^(node_controller_\w+_(?:sum|count))(?:\{.*\})? (.+)$/gm);
    return Object.fromEntries([...rows].map(([, name, value]) => [name, Number(value)]));
  };
  const created = (creationTimestamp: string) => ({ ...TAINTED, metadata: { creationTimestamp } });

  test("use the relay's clock for nodes that join while it watches, not the API server's timestamps", async () => {
    const { api, clock, metrics } = await start();
    for (let index = 0; index < 50; index += 1) api.put(`n${index}`, created("1970-01-01T00:00:00Z"));
    await clock.advance(1_000);
    const { [`${JOINED}_sum`]: sum = Number.NaN, ...counts } = await sums(metrics);
    expect(counts).toMatchObject({ [`${JOINED}_count`]: 50, [`${TAINT}_count`]: 50 });
    expect(sum).toBeLessThan(50);
  });

  test("use the timestamps of nodes that joined before it watched, up to five minutes", async () => {
    const { clock, metrics } = await start({
      prepare(api) {
        api.put("a", created("2025-12-31T23:59:00Z"));
        api.put("b", created("1970-01-01T00:00:00Z"));
      },
    });
    await clock.advance(1_000);
    const { [`${JOINED}_sum`]: sum = Number.NaN, ...counts } = await sums(metrics);
    expect(counts).toMatchObject({ [`${JOINED}_count`]: 2 });
    expect(Math.floor(sum)).toBe(360);
  });

  test("of an old node that is tainted again count from then, and not as joining", async () => {
    const { api, clock, metrics } = await start();
    api.put("a", TAINTED);
    await clock.advance(10_000_000);
    api.put("a", TAINTED);
    await clock.advance(10_000);
    const { [`${TAINT}_sum`]: sum = Number.NaN, ...counts } = await sums(metrics);
    expect(counts).toMatchObject({ [`${JOINED}_count`]: 1, [`${TAINT}_count`]: 2 });
    expect(sum).toBeLessThan(20);
  });
});

test("the recovery of a failed watch is reported once, with its duration", async () => {
  const { api, clock, lines } = await start();
  api.next(...Array.from({ length: 3 }, () => createUnreachable("ConnectionRefused")));
  api.breakWatches();
  await clock.advance(60_000);
  expect(eventsOf(lines, "Recovered")).toEqual([
    {
      level: "info",
      event: "Recovered",
      cluster: "one",
      resource: "nodes",
      code: "ConnectionRefused",
      durationMs: expect.any(Number),
    },
  ]);
});

test("a cluster has no more series than the reference says", async () => {
  const { api, clock, metrics } = await start();
  for (let index = 0; index < 50; index += 1) api.put(`n${index}`, TAINTED);
  await clock.advance(3_600_000);
  const series = (await metrics.text()).split("\n").filter((line) => line.includes('cluster="one"'));
  const reference = await readFile(new URL("../../docs/reference/metrics.md", import.meta.url), "utf8");
  const [, documented] = /has some (\d+) series/.exec(reference) ?? [];
  expect(series.length).toBeGreaterThan(Number(documented) * 0.8);
  expect(series.length).toBeLessThanOrEqual(Number(documented));
});

test("metrics show what happened, under the stock controller's names and ours", async () => {
  const { api, clock, metrics } = await start();
  api.put("a", { ...TAINTED, metadata: { creationTimestamp: clock.wallTime().toISOString() } });
  await clock.advance(1_000);
  const text = await metrics.text();
  const labels = 'cluster="one",controller="cloud-node-controller"';
  expect(text.split("\n")).toEqual(
    expect.arrayContaining([
      'node_controller_initial_node_sync_delay_seconds_bucket{le="0.05",cluster="one"} 1',
      'node_controller_cloud_provider_taint_removal_delay_seconds_count{cluster="one"} 1',
      'serverless_ccm_cluster_ready{cluster="one"} 1',
      `serverless_ccm_objects{${labels}} 1`,
      `serverless_ccm_pending_objects{${labels}} 0`,
      `serverless_ccm_invocations_total{${labels},reason="watch",outcome="report"} 1`,
      `serverless_ccm_objects_total{${labels},outcome="changed"} 1`,
      'serverless_ccm_lists_total{cluster="one",resource="nodes",cause="start"} 1',
      `serverless_ccm_cloud_calls_total{${labels},operation="DescribeInstances"} 1`,
      `serverless_ccm_cluster_requests_total{${labels},kind="write"} 2`,
      `serverless_ccm_due_to_report_seconds_count{${labels}} 1`,
    ]),
  );
});
