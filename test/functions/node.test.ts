import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { Cluster } from "#config/cluster.ts";
import type { Node } from "#core/node/node.ts";
import { isUninitialized } from "#core/node/taints.ts";
import type { Report } from "#core/report.ts";
import { expectLogLines } from "#test/log-lines.ts";
import { type FunctionUnderTest, startFunction } from "./function-under-test.ts";

let node: FunctionUnderTest;
beforeEach(async () => {
  node = await startFunction();
});
afterEach(() => node.close());

const outcomes = (report: Report) =>
  report.objects.map(({ outcome, because }) => `${outcome} ${because.code}`);
const readAll = (nodes: readonly Node[]) =>
  Promise.all(nodes.map(({ metadata }) => node.api.read(metadata.name)));
const namesOf = (count: number) => Array.from({ length: count }, (_, index) => `node-${index}`);

describe("a batch", () => {
  test("of joining nodes is initialized: one call to the cloud, two writes a node", async () => {
    const joined = await node.join(...namesOf(100));
    const report = await node.invoke(node.event(joined));
    const initialized = await readAll(joined);
    expect(initialized.filter(isUninitialized)).toEqual([]);
    expect(initialized.map(({ spec }) => spec.providerID)).toEqual(
      namesOf(100).map((name) => `memory:///zone-a/${name}`),
    );
    expect(initialized[7]?.status.addresses).toContainEqual({ type: "InternalIP", address: "10.0.0.8" });
    expect(report.objects.map(({ index, name, outcome }) => [index, name, outcome])).toEqual(
      namesOf(100).map((name, index) => [index, name, "changed"]),
    );
    expect(report.usage.cloud.calls).toEqual({ Instances: 1 });
    expect(report.usage.cluster).toMatchObject({ writes: 200, reads: 0, conflicts: 0 });
  });

  test("that was worked off already is unchanged when it comes again", async () => {
    const joined = await node.join("a", "b");
    await node.invoke(node.event(joined));
    const before = await readAll(joined);
    const report = await node.invoke(node.event(before));
    expect(outcomes(report)).toEqual(["unchanged UpToDate", "unchanged UpToDate"]);
    expect(await readAll(joined)).toEqual(before);
    expect(node.asked).toHaveLength(1);
  });

  test("of snapshots that are out of date costs a read and no retry", async () => {
    const joined = await node.join("a");
    await node.api.patch("a/status", [
      { op: "add", path: "/status/addresses/-", value: { type: "InternalDNS", address: "a.local" } },
    ]);
    const report = await node.invoke(node.event(joined));
    expect(outcomes(report)).toEqual([expect.stringMatching(/^changed /)]);
    expect(report.usage.cluster).toMatchObject({ conflicts: 1, reads: 1 });
    expect((await readAll(joined)).filter(isUninitialized)).toEqual([]);
  });

  test("with a node that meanwhile names another instance asks the cloud about that one before anything is written", async () => {
    const joined = await node.join("a");
    await node.api.patch("a", [{ op: "add", path: "/spec/providerID", value: "memory:///zone-a/other" }]);
    await node.api.patch("a/status", [
      { op: "add", path: "/status/addresses/-", value: { type: "InternalDNS", address: "a.local" } },
    ]);
    const report = await node.invoke(node.event(joined));
    expect(outcomes(report)).toEqual(["retry InstanceNotFound"]);
    expect(report.usage.cloud.calls).toEqual({ Instances: 2 });
    expect((await readAll(joined)).filter(isUninitialized)).toHaveLength(1);
  });

  test("with one malformed object fails for that one alone", async () => {
    const [first, second] = await node.join("a", "b");
    const poisoned = { metadata: { name: "poisoned", uid: "uid-1", labels: { key: 5 } } };
    const report = await node.invoke(node.event([first, poisoned, second, null]));
    expect(outcomes(report)).toEqual([
      expect.stringMatching(/^changed /),
      "skipped Malformed",
      expect.stringMatching(/^changed /),
      "skipped Malformed",
    ]);
    expect(report.objects[1]).toMatchObject({ index: 1, name: "poisoned", uid: "uid-1" });
    expect(report.objects[1]?.because.message).toContain("metadata.labels.key: ");
    expect(report.objects[3]).toEqual({ index: 3, outcome: "skipped", because: expect.anything() });
  });
});

describe("the cloud", () => {
  test.each([
    ["the event's share", { budget: { share: 0.4 } }, 0.4],
    ["the cluster's floor without one", {}, 0.05],
  ])("gets a request with %s", async (_, difference, share) => {
    await node.invoke(node.event(await node.join("a"), difference));
    expect(node.asked).toEqual([{ names: ["a"], share }]);
  });

  test("gets requests only about the nodes whose decision needs it", async () => {
    const [first, second] = await node.join("a", "b");
    await node.invoke(node.event([first]));
    await node.invoke(node.event([await node.api.read("a"), second]));
    expect(node.asked.map(({ names }) => names)).toEqual([["a"], ["b"]]);
  });

  test("that cannot be loaded makes its nodes due again, with the reason", async () => {
    const cloud = () => Promise.reject(new Error("no such region"));
    const report = await node.invoke(node.event(await node.join("a")), { cloud });
    expect(outcomes(report)).toEqual(["retry Unavailable"]);
    expect(report.objects[0]?.because.message).toContain("no such region");
  });
});

describe("a cluster", () => {
  const unknown = { cluster: "unknown", clusterHash: "0123456789abcdef" };

  test("that is unknown makes all objects due again, and nothing is sent", async () => {
    const report = await node.invoke(node.event([...(await node.join("a")), null], unknown));
    expect(outcomes(report)).toEqual(["retry UnknownCluster", "retry UnknownCluster"]);
    expect(await node.requests()).toBe(0);
  });

  test("with a configuration that the function has not read yet is reread once", async () => {
    const former = Cluster.parse({ ...node.entry, policies: { dryRun: true } });
    const read: boolean[] = [];
    const clusters = async (_: string, options: { fresh?: boolean } = {}) => {
      read.push(options.fresh === true);
      return options.fresh ? node.cluster : former;
    };
    const report = await node.invoke(node.event(await node.join("a")), { clusters });
    expect(outcomes(report)).toEqual([expect.stringMatching(/^changed /)]);
    expect(read).toEqual([false, true]);
  });

  test("with a configuration unlike the sender's is not written to", async () => {
    const other = Cluster.parse({ ...node.entry, policies: { dryRun: true } }).hash;
    const report = await node.invoke(node.event(await node.join("a", "b"), { clusterHash: other }));
    expect(outcomes(report)).toEqual([
      "retry ClusterConfigurationDiffers",
      "retry ClusterConfigurationDiffers",
    ]);
    expect(report.objects[0]?.because.message).toContain(other);
    expect([await node.requests(), node.asked]).toEqual([0, []]);
  });

  test("with an unreadable source makes all objects due again", async () => {
    const clusters = () => Promise.reject(new Error("clusters.yaml cannot be read"));
    const report = await node.invoke(node.event(await node.join("a")), { clusters });
    expect(outcomes(report)).toEqual(["retry ClustersUnreadable"]);
    expect(report.objects[0]?.because.message).toContain("clusters.yaml cannot be read");
  });

  test("that cannot be signed in to makes all nodes due again", async () => {
    const api = () => Promise.reject(new Error("the token file is empty"));
    const report = await node.invoke(node.event(await node.join("a")), { api });
    expect(outcomes(report)).toEqual(["retry SignInFailed"]);
    expect(report.objects[0]?.because.message).toContain("the token file is empty");
  });
});

describe("a dry run", () => {
  test.each(["event", "cluster"])("by the %s writes nothing and says what would be written", async (by) => {
    const dry = Cluster.parse({ ...node.entry, policies: { dryRun: true } });
    const joined = await node.join("a");
    const report =
      by === "event"
        ? await node.invoke(node.event(joined, { dryRun: true }))
        : await node.invoke(node.event(joined, { clusterHash: dry.hash }), {
            clusters: async () => dry,
          });
    expect(outcomes(report)).toEqual(["skipped DryRun"]);
    expect(report.objects[0]?.decision).toMatchObject({ kind: "change", object: { name: "a" } });
    expect(await node.requests()).toBe(0);
    expect(await readAll(joined)).toEqual(joined);
  });

  test("reports what is up to date or must wait as it is, and records no Event", async () => {
    const [first, foreign] = await node.join("a", "b");
    await node.invoke(node.event([first]));
    const before = await node.requests();
    node.cloud.instances.set("b", { ...node.cloud.instances.get("b"), foreign: true } as never);
    const event = node.event([await node.api.read("a"), foreign], { dryRun: true });
    expect(outcomes(await node.invoke(event))).toEqual(["unchanged UpToDate", "retry Foreign"]);
    expect(await node.requests()).toBe(before);
  });

  test("cannot be lifted by an event", async () => {
    const event = node.event(await node.join("a"), { dryRun: false });
    await expect(node.invoke(event)).rejects.toMatchObject({ code: "EventRejected" });
  });
});

describe("the deadline", () => {
  test.each([
    ["no time left", { getRemainingTimeInMillis: () => 900 }],
    ["an invoker that gave up", { signal: AbortSignal.abort() }],
  ])("with %s nothing is sent, and every object is named", async (_, context) => {
    const report = await node.invoke(node.event(await node.join("a", "b", "c")), {}, context);
    expect(report.objects.map(({ name, outcome }) => `${name} ${outcome}`)).toEqual([
      "a retry",
      "b retry",
      "c retry",
    ]);
    expect(await node.requests()).toBe(0);
  });

  test("in the middle of a batch ends it with a whole report, after which nothing is written", async () => {
    const joined = await node.join(...namesOf(60));
    node.plane.control.delayRequests(200);
    const slow = Cluster.parse({ ...node.entry, limits: { requestsPerFunction: 8 } });
    const event = node.event(joined, { clusterHash: slow.hash });
    const context = { getRemainingTimeInMillis: () => 2_000 };
    const report = await node.invoke(event, { clusters: async () => slow }, context);
    const afterAnswer = await node.requests();
    node.plane.control.delayRequests(0);
    await sleep(600);
    expect(new Set(outcomes(report))).toContain("retry DeadlineReached");
    expect(report.objects.map(({ index }) => index)).toEqual(joined.map((_, index) => index));
    expect(report.usage.cluster.writes).toBeGreaterThan(0);
    expect(await node.requests()).toBe(afterAnswer);
    const changed = report.objects.filter(({ outcome }) => outcome === "changed").map(({ name }) => name);
    const untainted = (await readAll(joined))
      .filter((read) => !isUninitialized(read))
      .map(({ metadata }) => metadata.name);
    expect(untainted).toEqual(changed);
  });
});

describe("the log", () => {
  afterEach(() => expectLogLines(node.logged));

  test("has a line for each object that is not as it was, and one for the batch", async () => {
    const [first, second] = await node.join("a", "b");
    await node.invoke(node.event([first]));
    const lines = node.logged.length;
    node.cloud.instances.delete("b");
    await node.invoke(node.event([await node.api.read("a"), second, null], { id: "event-2" }));
    const common = { eventId: "event-2", cluster: "tenant-a", controller: "cloud-node-controller" };
    expect(node.logged.slice(lines)).toEqual([
      expect.objectContaining({
        level: "warn",
        event: "Object",
        ...common,
        name: "b",
        outcome: "retry",
        afterSeconds: expect.any(Number),
      }),
      expect.objectContaining({ level: "info", event: "Object", ...common, index: 2, outcome: "skipped" }),
      expect.objectContaining({
        level: "info",
        event: "Report",
        ...common,
        requestId: "request-1",
        objects: 3,
        outcomes: { changed: 0, unchanged: 1, skipped: 1, retry: 1 },
        durations: {
          cloudMs: expect.any(Number),
          clusterMs: expect.any(Number),
          totalMs: expect.any(Number),
        },
      }),
    ]);
  });

  test("of a dry run leaves the decision to the report", async () => {
    await node.invoke(node.event(await node.join("a"), { dryRun: true }));
    expect(node.logged[0]).toMatchObject({ name: "a", outcome: "skipped" });
    expect(node.logged[0]).not.toHaveProperty("decision");
  });

  test("of an event that was rejected is the reason", async () => {
    await expect(node.invoke({})).rejects.toThrow();
    expect(node.logged).toEqual([
      {
        level: "error",
        event: "InvocationFailed",
        code: "EventRejected",
        message: expect.stringContaining("version: "),
        requestId: "request-1",
      },
    ]);
  });
});
