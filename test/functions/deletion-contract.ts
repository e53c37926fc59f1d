import { readFile } from "node:fs/promises";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { parse } from "yaml";
import { createInProcessInvoker, type FunctionHandler } from "#cli/run/in-process-functions.ts";
import { createMemoryCloud, type MemoryInstance, type MemoryInstances } from "#clouds/memory/cloud.ts";
import { Cluster } from "#config/cluster.ts";
import { createFleetBrake, type FleetBrake, type RecordStore } from "#config/fleet-brake/fleet-brake.ts";
import { createMemoryRecord } from "#config/fleet-brake/open-record.ts";
import { INSTANCE_ANNOTATION, NODE_LIFECYCLE_EVENT_SOURCE } from "#core/contracts.ts";
import { Event } from "#core/event.ts";
import type { Node } from "#core/node/node.ts";
import { nodeLifecycleController } from "#core/node-lifecycle/controller.ts";
import { type DeletionState, readState, STATE, STATE_KEY } from "#core/node-lifecycle/state.ts";
import type { ObjectReport, Report } from "#core/report.ts";
import { formatCreationPath, formatObjectPath } from "#core/resources/resource.ts";
import type { Stop } from "#core/stop.ts";
import type { ControlPlane } from "#emulators/harness/control-plane.ts";
import { buildJoiningNode } from "#emulators/harness/joining-node.ts";
import { createControllerFunction } from "#functions/parts/controller-function.ts";
import type { Log, LogLine } from "#functions/parts/log-report.ts";
import type { ApiRequest, ApiResponse, Transport } from "#kube/client/transport.ts";
import { type Clock, systemClock } from "#kube/follow/clock.ts";
import { createWritingInvoker } from "#relay/delivery/writing-invoker.ts";
import { buildRunningInstance } from "#test/clouds/memory/running-instance.ts";
import { createDelayedStop } from "#test/functions/delayed-stop.ts";
import { createLife } from "#test/functions/life.ts";
import { type ClusterUnderTest, startCluster } from "#test/kube/apply/cluster-under-test.ts";
import { buildStatus, createUnreachable } from "#test/kube/apply/fake-api.ts";

/** Intercepts requests between function and API server: answers them or passes them on. */
type Between = (request: ApiRequest, through: () => Promise<ApiResponse>) => Promise<ApiResponse>;

interface Invocation {
  readonly atSeconds?: number;
  readonly between?: Between;
  readonly nodes?: readonly Node[];
  readonly fleetBrake?: FleetBrake;
  readonly log?: Log;
  /** The cluster of a fleet that is used. */
  readonly as?: string;
  readonly dryRun?: boolean;
  readonly readStop?: (cluster: string) => Promise<Stop | undefined>;
  /** Further fields of the event. */
  readonly event?: object;
}

let startMs = 0;
const SHUTDOWN = { key: "node.cloudprovider.kubernetes.io/shutdown", effect: "NoSchedule" };

/**
 * Deletion by the function, as its own identity, on one API server; or by a function that cannot reach that,
 * with the relay writing in its stead.
 */
export function describeDeletion(
  title: string,
  start: (folder: string) => Promise<ControlPlane>,
  writes: Cluster["writes"] = "function",
): void {
  describe(`the lifecycle of nodes on ${title}`, () => {
    let cluster: ClusterUnderTest;
    let admin: Transport;
    let lifecycle: Transport;
    let entry: Cluster;
    let world: MemoryInstances;
    let named = 0;

    beforeAll(async () => {
      startMs = Date.now();
      cluster = await startCluster(start);
      admin = await cluster.transport("admin");
      lifecycle = await cluster.transport(writes === "relay" ? "relay" : "node-lifecycle");
      entry = Cluster.parse({
        name: "tenant-a",
        server: "https://127.0.0.1",
        cloud: { provider: "memory", instancesFile: "unused" },
        writes,
      });
    });
    afterAll(() => cluster?.close());

    beforeEach(async () => {
      world = { instances: new Map() };
      for (const name of (await nodes()).map(({ metadata }) => metadata.name)) await cluster.remove(name);
      await ask("DELETE", formatObjectPath(STATE, STATE.at));
      const manifest = await readFile(new URL("../../infra/state/config-map.yaml", import.meta.url), "utf8");
      expect((await ask("POST", formatCreationPath(STATE, STATE.at.namespace), parse(manifest))).status).toBe(
        201,
      );
    });

    const ask = async (
      method: ApiRequest["method"],
      path: string,
      body?: unknown,
      contentType?: string,
    ): Promise<{ readonly status: number; readonly body: Record<string, unknown> }> => {
      const request = {
        method,
        path,
        ...(body === undefined ? {} : { body }),
        ...(contentType === undefined ? {} : { contentType }),
      };
      const answer = await admin.send(request);
      return { status: answer.status, body: JSON.parse(answer.body) };
    };
    const nodes = async (): Promise<readonly Node[]> =>
      ((await ask("GET", "/api/v1/nodes")).body as { items: readonly Node[] }).items;
    const names = async (): Promise<string[]> =>
      (await nodes()).map(({ metadata }) => metadata.name).toSorted();
    const state = async (): Promise<DeletionState> => {
      const read = readState({
        kind: "object",
        object: (await ask("GET", formatObjectPath(STATE, STATE.at))).body,
      });
      if (read.kind === "unusable") throw new Error(read.message);
      return read.state;
    };
    const edit = async (text: string): Promise<void> => {
      const patch = { data: { [STATE_KEY]: text } };
      const path = formatObjectPath(STATE, STATE.at);
      expect((await ask("PATCH", path, patch, "application/merge-patch+json")).status).toBe(200);
    };

    /** Creates initialized nodes whose kubelets have been silent for an hour. */
    async function silent(count: number, ready: "Unknown" | "True" = "Unknown"): Promise<readonly Node[]> {
      return Promise.all(Array.from({ length: count }, () => registered(`node-${++named}`, ready)));
    }

    async function registered(name: string, ready: "Unknown" | "True" = "Unknown"): Promise<Node> {
      const providerID = `memory:///zone-a/${name}`;
      world.instances.set(name, { ...buildRunningInstance(name, "10.0.0.1"), providerID });
      const { metadata, spec, status, ...joining } = buildJoiningNode({
        name,
        providerID,
      }) as unknown as Record<"metadata" | "spec" | "status", Record<string, unknown>>;
      const body = {
        ...joining,
        metadata: { ...metadata, annotations: { [INSTANCE_ANNOTATION]: `account-1/network-1/${name}` } },
        spec: { ...spec, taints: undefined },
        status: {
          ...status,
          conditions: [{ type: "Ready", status: ready, lastTransitionTime: secondsAgo(3_600) }],
        },
      };
      expect((await ask("POST", "/api/v1/nodes", body)).status).toBe(201);
      return cluster.read(name);
    }

    const become = (affected: readonly Node[], difference: Partial<MemoryInstance>): void => {
      for (const { metadata } of affected) {
        const instance = world.instances.get(metadata.name);
        if (instance !== undefined) world.instances.set(metadata.name, { ...instance, ...difference });
      }
    };

    /** Invokes the function as a new process. */
    async function invoke({
      atSeconds = 0,
      between,
      nodes: batch,
      as = entry.name,
      dryRun = false,
      event: said,
      ...further
    }: Invocation = {}): Promise<Report> {
      const api: Transport = {
        ...lifecycle,
        send: (request) => {
          const through = () => lifecycle.send(request);
          return between === undefined ? through() : between(request, through);
        },
      };
      const run = createControllerFunction(nodeLifecycleController, {
        clusters: async () => ({ ...entry, name: as }),
        cloud: async () => createMemoryCloud(world),
        api: () =>
          writes === "relay" ? Promise.reject(new Error("no route to host")) : Promise.resolve(api),
        now: () => new Date(startMs + atSeconds * 1_000),
        ...further,
      });
      const event = {
        version: 1,
        id: "event-1",
        cluster: as,
        ...(dryRun ? { dryRun } : {}),
        clusterHash: entry.hash,
        controller: nodeLifecycleController.name,
        reason: "monitor",
        objects: (batch ?? (await nodes())).slice(0, 100),
        ...said,
      };
      if (writes === "relay") {
        const clock = { ...systemClock, wallTime: () => new Date(startMs + atSeconds * 1_000) };
        return throughRelay(Event.parse(event), api, run, clock);
      }
      return run(JSON.parse(JSON.stringify(event)), {
        awsRequestId: "1",
        getRemainingTimeInMillis: () => 30_000,
      });
    }

    async function throughRelay(
      event: Event,
      transport: Transport,
      run: FunctionHandler,
      clock: Clock,
    ): Promise<Report> {
      const invoker = createInProcessInvoker(new Map([[nodeLifecycleController.name, run]]), 30_000);
      const writing = createWritingInvoker({ cluster: entry, transport, invoker, clock });
      const invocation = await writing.invoke(event, new AbortController().signal);
      if (invocation.kind === "failed") throw new Error(`${invocation.code}: ${invocation.message}`);
      return invocation.report;
    }

    const codesOf = (report: Report): string[] => [
      ...new Set(report.objects.map(({ because }: ObjectReport) => because.code)),
    ];

    test("a scale-in of 50 terminated instances deletes all 50 nodes, and reports each", async () => {
      const gone = await silent(50);
      const [kept] = [await silent(3, "True"), await silent(3)];
      become(gone, { state: "terminated" });
      const report = await invoke();
      expect(report.objects.filter(({ outcome }) => outcome === "changed")).toHaveLength(50);
      expect((await nodes()).length).toBe(6);
      expect(await names()).toEqual(expect.arrayContaining(kept.map(({ metadata }) => metadata.name)));
      const said = await Promise.all(gone.map((node) => cluster.events(node)));
      const first = said.flat()[0];
      expect(first).toMatchObject({
        reason: "DeletingNode",
        type: "Normal",
        source: { component: NODE_LIFECYCLE_EVENT_SOURCE },
        message: expect.stringMatching(
          /^Deleting node node-\d+ because it does not exist in the cloud provider$/,
        ),
      });
      // An Event whose answer comes too late counts as dropped, even if the API server has recorded it.
      const { eventsDropped = 0 } = report.usage.cluster;
      expect(eventsDropped).toBeGreaterThanOrEqual(50 - said.flat().length);
    });

    test("an instance that is missed twice, a grace apart, takes its node; nothing else of the ConfigMap is lost", async () => {
      const [missed, ...others] = await silent(10);
      if (missed === undefined) throw new Error("there is no node");
      become([missed], { hidden: true });
      expect(codesOf(await invoke())).toEqual(["InstanceMissed", "NotReady"]);
      expect(Object.keys((await state()).absences)).toEqual([missed.metadata.uid]);
      expect(codesOf(await invoke({ atSeconds: 29 }))).toEqual(["InstanceMissed", "NotReady"]);
      expect(codesOf(await invoke({ atSeconds: 31 }))).toEqual(["Deleted", "NotReady"]);
      expect(await names()).toEqual(others.map(({ metadata }) => metadata.name).toSorted());
      const { body } = await ask("GET", formatObjectPath(STATE, STATE.at));
      expect(body).toMatchObject({ metadata: { labels: { "app.kubernetes.io/name": "serverless-ccm" } } });
      expect((await state()).deletions).toMatchObject({
        [missed.metadata.uid]: { counted: true, nodes: 10 },
      });
    });

    test.each<[string, () => Promise<ApiResponse>]>([
      ["refuses the connection", () => Promise.reject(createUnreachable("ConnectionRefused"))],
      ["loses the connection", () => Promise.reject(createUnreachable("ConnectionLost"))],
      ["answers 503", async () => buildStatus(503, "ServiceUnavailable", "the server is starting")],
    ])("an API server that %s holds a deletion for seconds", async (_, answer) => {
      const [node] = await silent(2);
      if (node === undefined) throw new Error("there is no node");
      become([node], { state: "terminated" });
      const report = await invoke({
        between: (request, through) => (request.path.includes("/configmaps/") ? answer() : through()),
      });
      expect(report.objects).toHaveLength(2);
      for (const { outcome, because, afterSeconds } of report.objects) {
        expect([outcome, because.code]).toEqual(["retry", "Unavailable"]);
        expect(afterSeconds).toBeLessThanOrEqual(5);
      }
      expect(codesOf(await invoke({ atSeconds: 5 }))).toContain("Deleted");
    });

    test("a state that must not be read holds a deletion for a minute", async () => {
      const [node] = await silent(2);
      if (node === undefined) throw new Error("there is no node");
      become([node], { state: "terminated" });
      const report = await invoke({
        between: async (request, through) =>
          request.path.includes("/configmaps/") ? buildStatus(403, "Forbidden", "no") : through(),
      });
      expect(report.objects).toContainEqual(
        expect.objectContaining({
          because: expect.objectContaining({ code: "StateUnreadable" }),
          afterSeconds: 60,
        }),
      );
    });

    test("a DELETE names the uid and the version of a read after the state was written", async () => {
      const [node] = await silent(2);
      if (node === undefined) throw new Error("there is no node");
      become([node], { state: "terminated" });
      const sent: string[] = [];
      const bodies: unknown[] = [];
      await invoke({
        between(request, through) {
          sent.push(`${request.method} ${request.path.replace(/\?.*/, "")}`);
          if (request.method === "DELETE") bodies.push(request.body);
          return through();
        },
      });
      const { uid, resourceVersion, name } = node.metadata;
      expect(bodies).toMatchObject([{ preconditions: { uid, resourceVersion } }]);
      const order = [
        `PUT ${formatObjectPath(STATE, STATE.at)}`,
        `GET /api/v1/nodes/${name}`,
        `DELETE /api/v1/nodes/${name}`,
      ];
      expect(sent.filter((request) => order.includes(request))).toEqual(order);
    });

    test.each([
      [
        "deleted and made again under its name",
        async (name: string) => {
          await cluster.remove(name);
          await registered(name);
        },
      ],
      [
        "Ready again",
        async (name: string) => {
          const conditions = [{ type: "Ready", status: "True", lastTransitionTime: secondsAgo(0) }];
          await cluster.patch(`${name}/status`, [
            { op: "add", path: "/status/conditions", value: conditions },
          ]);
        },
      ],
    ])("a node that is %s survives at any request of the function", async (_, happens) => {
      // Once without it, to count the requests until the DELETE.
      const [first] = await silent(1);
      if (first === undefined) throw new Error("there is no node");
      become([first], { state: "terminated" });
      let requests = 0;
      await invoke({
        nodes: [first],
        between: (_, through) => {
          requests += 1;
          return through();
        },
      });
      expect(await names()).toEqual([]);
      let survived = 0;
      for (let at = 1; at < requests; at += 1) {
        const [node] = await silent(1);
        if (node === undefined) throw new Error("there is no node");
        become([node], { state: "terminated" });
        let taken = 0;
        await invoke({
          nodes: [node],
          async between(request, through) {
            taken += 1;
            // Right before it: the last of them is the DELETE itself.
            if (taken === at && request.method !== "POST") await happens(node.metadata.name);
            return through();
          },
        });
        if ((await names()).includes(node.metadata.name)) survived += 1;
        await cluster.remove(node.metadata.name).catch(() => undefined);
      }
      expect(survived).toBe(requests - 1);
    });

    test("killed repeatedly during a false mass not-found, and two at a time: never more than the brake allows", async () => {
      const all = await silent(20);
      become(all.slice(0, 12), { hidden: true });
      await invoke();
      for (let killedAfter = 1; killedAfter <= 40; killedAfter += 3) {
        const killed = (): Between => {
          const life = createLife(killedAfter);
          return async (_request, through) => {
            await life.step();
            const answer = await through();
            life.landed();
            return answer;
          };
        };
        const atSeconds = 40 + killedAfter;
        await Promise.allSettled([
          invoke({ atSeconds, between: killed() }),
          invoke({ atSeconds: atSeconds + 1, between: killed() }),
        ]);
      }
      await Promise.all([invoke({ atSeconds: 200 }), invoke({ atSeconds: 201 })]);
      expect((await nodes()).length).toBeGreaterThanOrEqual(16);
      expect((await state()).brake).toMatchObject({ limit: "TenMinutes", nodes: expect.any(Number) });
      expect(codesOf(await invoke({ atSeconds: 700 }))).toContain("BrakePulled");
      const [held] = (await nodes()).filter(({ metadata }) => world.instances.get(metadata.name)?.hidden);
      if (held === undefined) throw new Error("none is held");
      expect((await cluster.events(held))[0]).toMatchObject({ reason: "DeletionBrakePulled" });
    });

    describe("with a brake of the fleet", () => {
      /**
       * So many nodes that were missed a while ago, in a cluster of a hundred and ten: twenty-two may go by
       * its own brake.
       */
      async function missed(count: number): Promise<readonly Node[]> {
        const all = await silent(110);
        become(all.slice(0, count), { hidden: true });
        await invoke({ nodes: all.slice(0, 60) });
        return all.slice(0, 60);
      }
      const left = async (): Promise<number> => (await nodes()).length;

      test("a deletion is granted by its record before the cluster's announcement, and the DELETE comes last", async () => {
        const all = await missed(1);
        const store = createMemoryRecord();
        const order: string[] = [];
        const swap: RecordStore["swap"] = (...args) => {
          order.push("swap of the fleet");
          return store.swap(...args);
        };
        const fleetBrake = createFleetBrake({ store: { ...store, swap } });
        const between: Between = (request, through) => {
          if (["PUT", "DELETE"].includes(request.method)) order.push(request.method);
          return through();
        };
        expect(codesOf(await invoke({ atSeconds: 100, fleetBrake, between, nodes: all }))).toContain(
          "Deleted",
        );
        expect(order).toEqual(["swap of the fleet", "PUT", "DELETE"]);
      });

      test("ten functions of clusters that share it, killed anywhere, delete twenty at the most; then it says so, and holds", async () => {
        const all = await missed(30);
        const store = createMemoryRecord();
        const lines: LogLine[] = [];
        const log: Log = (line) => void lines.push(line);
        const fleetBrake = createFleetBrake({ store });
        for (const at of [100, 110, 120]) {
          await Promise.allSettled(
            Array.from({ length: 10 }, (_, number) => {
              const life = createLife(number < 9 ? 3 + number * 5 + (at % 7) : undefined);
              const between: Between = async (_request, through) => {
                await life.step();
                const answer = await through();
                life.landed();
                return answer;
              };
              // Another cluster has its own batch, whatever the tenant's own brake says.
              const own = all.slice(number * 3, number * 3 + 3);
              return invoke({
                atSeconds: at,
                between,
                fleetBrake,
                log,
                nodes: own,
                as: `tenant-${number % 3}`,
              });
            }),
          );
        }
        expect(await left()).toBeGreaterThanOrEqual(90);
        // What was killed may have been let: it is not let once more.
        for (const node of all.slice(0, 30))
          await invoke({ atSeconds: 170, fleetBrake, log, nodes: [node], as: "tenant-0" });
        expect(await left()).toBeGreaterThanOrEqual(90);
        const [held] = (await nodes()).filter(({ metadata }) => world.instances.get(metadata.name)?.hidden);
        if (held === undefined) throw new Error("none is held");
        const report = await invoke({ atSeconds: 180, fleetBrake, nodes: [held] });
        expect(codesOf(report)).toEqual(["FleetBrakeEngaged"]);
        expect(lines.filter(({ event }) => event === "FleetBrakeEngaged")).toEqual([
          expect.objectContaining({
            level: "error",
            code: "Deletions",
            message: expect.stringContaining("20 deleted"),
          }),
        ]);
      });

      test.each<[string, Partial<RecordStore>, string]>([
        ["cannot be read", { read: () => Promise.reject(new Error("503")) }, "FleetBrakeUnusable"],
        ["is missing", { read: async () => ({ kind: "absent" }) }, "FleetBrakeUnusable"],
        ["always loses to another writer", { swap: async () => false }, "FleetBrakeContended"],
      ])("where its record %s nothing goes but what is terminated", async (_, difference, code) => {
        const [gone, hidden] = [await silent(3), await silent(2)];
        await silent(10);
        become(gone, { state: "terminated" });
        become(hidden, { hidden: true });
        await invoke();
        const fleetBrake = createFleetBrake({
          store: { ...createMemoryRecord(), ...difference },
          random: () => 0,
        });
        const report = await invoke({ atSeconds: 100, fleetBrake });
        expect(codesOf(report).toSorted()).toEqual([code, "NotReady"].toSorted());
        expect((await nodes()).length).toBe(12);
        const [node] = hidden;
        const told = node === undefined ? [] : await cluster.events(node);
        expect(told.map(({ reason }) => reason)).toEqual(
          code === "FleetBrakeContended" ? [] : ["DeletionBrakePulled"],
        );
      });

      test("a dry run asks nothing of it, and nor do deletions of what is terminated", async () => {
        const all = await missed(1);
        let reads = 0;
        const store = createMemoryRecord();
        const read: RecordStore["read"] = (signal) => {
          reads += 1;
          return store.read(signal);
        };
        const fleetBrake = createFleetBrake({ store: { ...store, read } });
        await invoke({ atSeconds: 100, nodes: all, dryRun: true, fleetBrake });
        expect([reads, await left()]).toEqual([0, 110]);
        become(all.slice(1, 31), { state: "terminated" });
        await invoke({ atSeconds: 110, nodes: all.slice(1), fleetBrake });
        expect([reads, await left()]).toEqual([0, 80]);
        await invoke({ atSeconds: 120, nodes: all, fleetBrake });
        expect([reads, await left()]).toEqual([1, 79]);
      });
    });

    test("two at once delete as many as one alone may", async () => {
      const all = await silent(20);
      become(all.slice(0, 12), { hidden: true });
      await invoke();
      await Promise.all([invoke({ atSeconds: 40 }), invoke({ atSeconds: 41 }), invoke({ atSeconds: 42 })]);
      await invoke({ atSeconds: 120 });
      const left = (await nodes()).length;
      expect(left).toBeGreaterThanOrEqual(16);
      expect(left).toBeLessThan(20);
    });

    test.each([
      ["missing", "StateMissing", async () => void (await ask("DELETE", formatObjectPath(STATE, STATE.at)))],
      ["rubbish", "StateMalformed", () => edit("{{{")],
      ["huge", "StateMalformed", () => edit("x".repeat(900_000))],
      ["of another version", "StateOfOtherVersion", () => edit('{"version":7}')],
    ])("with a state that is %s nothing is deleted, and the reason is reported", async (_, code, happens) => {
      const [gone, missed] = [await silent(2), await silent(2)];
      become(gone, { state: "terminated" });
      become(missed, { hidden: true });
      await silent(2);
      await happens();
      const report = await invoke({ atSeconds: 1_000 });
      expect(codesOf(report).toSorted()).toEqual(["NotReady", code].toSorted());
      expect((await nodes()).length).toBe(6);
      const [node] = gone;
      expect(node === undefined ? [] : await cluster.events(node)).toMatchObject([
        { reason: "DeletionStateUnusable" },
      ]);
    });

    test("a state that the tenant emptied restarts the count, for that cluster alone", async () => {
      const all = await silent(10);
      become(all.slice(0, 5), { hidden: true });
      await invoke();
      await invoke({ atSeconds: 40 });
      expect((await nodes()).length).toBe(8);
      await edit('{"version":1}');
      await invoke({ atSeconds: 60 });
      await invoke({ atSeconds: 100 });
      // As a tenant may delete its nodes itself; never all, and never without the grace.
      expect((await nodes()).length).toBe(7);
    });

    test("a wrong account, an outage and errors delete nothing in an hour", async () => {
      const all = await silent(3);
      for (let seconds = 0; seconds <= 3_600; seconds += 300) {
        world.outage = seconds % 600 === 0 ? undefined : "Unavailable";
        become(all, { hidden: true });
        const codes = codesOf(await invoke({ atSeconds: seconds }));
        expect(codes).toEqual([world.outage ?? "DeletionUnproven"]);
      }
      expect((await nodes()).length).toBe(3);
      expect((await state()).absences).toEqual({});
      const [node] = all;
      expect(node === undefined ? [] : await cluster.events(node)).toContainEqual(
        expect.objectContaining({ reason: "DeletionUnproven", type: "Warning" }),
      );
    });

    test("a rejected deletion is reported on the node, and retried", async () => {
      const [node] = await silent(2);
      if (node === undefined) throw new Error("there is no node");
      become([node], { state: "terminated" });
      const refusal = {
        kind: "Status",
        status: "Failure",
        reason: "Forbidden",
        message: "not by you",
        code: 403,
      };
      const report = await invoke({
        between: (request, through) =>
          request.method === "DELETE"
            ? Promise.resolve({ status: 403, headers: {}, body: JSON.stringify(refusal) })
            : through(),
      });
      expect(report.objects).toContainEqual(expect.objectContaining({ outcome: "retry" }));
      expect(await cluster.events(node)).toMatchObject([
        {
          reason: "DeletingNodeFailed",
          type: "Warning",
          message: `Failed deleting node ${node.metadata.name}: 403: not by you`,
        },
      ]);
    });

    test("a node that a finalizer holds is deleted once, and then left alone", async () => {
      const [node] = await silent(2);
      if (node === undefined) throw new Error("there is no node");
      const { name } = node.metadata;
      await cluster.patch(name, [{ op: "add", path: "/metadata/finalizers", value: ["example.com/hold"] }]);
      become([node], { state: "terminated" });
      const deletes: string[] = [];
      const between: Between = (request, through) => {
        if (request.method === "DELETE") deletes.push(request.path);
        return through();
      };
      for (let seconds = 0; seconds < 600; seconds += 100) await invoke({ atSeconds: seconds, between });
      expect(deletes).toHaveLength(1);
      await cluster.patch(name, [{ op: "remove", path: "/metadata/finalizers" }]);
    });

    test("a stopped instance taints its node, whatever other taints exist, until the node is Ready", async () => {
      const other = { key: "example.com/gpu", effect: "NoSchedule", value: "a100" };
      const [bare, tainted] = await silent(2);
      if (bare === undefined || tainted === undefined) throw new Error("there are no nodes");
      // Admission has marked both as not ready.
      await cluster.patch(bare.metadata.name, [{ op: "remove", path: "/spec/taints" }]);
      await cluster.patch(tainted.metadata.name, [{ op: "add", path: "/spec/taints", value: [other] }]);
      become([bare, tainted], { state: "stopped" });
      const taints = async () =>
        (await Promise.all([bare, tainted].map(({ metadata }) => cluster.read(metadata.name)))).map(
          ({ spec }) => spec.taints ?? [],
        );
      expect(codesOf(await invoke())).toEqual(["InstanceStopped"]);
      expect(await taints()).toMatchObject([[SHUTDOWN], [other, SHUTDOWN]]);
      become([bare, tainted], { state: "running" });
      expect(codesOf(await invoke())).toEqual(["NotReady"]);
      expect(await taints()).toMatchObject([[SHUTDOWN], [other, SHUTDOWN]]);
      for (const { metadata } of [bare, tainted]) {
        const conditions = [{ type: "Ready", status: "True", lastTransitionTime: secondsAgo(0) }];
        await cluster.patch(`${metadata.name}/status`, [
          { op: "add", path: "/status/conditions", value: conditions },
        ]);
      }
      expect(codesOf(await invoke())).toEqual(["Ready"]);
      expect(await taints()).toEqual([[], [other]]);
    });

    test.each([
      ["an event says so", { event: { version: 2, stop: "deletes" } }],
      [
        "the function finds so, and the event is of a relay that knows nothing of it",
        { readStop: createDelayedStop(0, "deletes") },
      ],
    ] as const)(
      "while deletes are stopped, and %s, none is announced, marks are kept, and deletion continues later",
      async (_, how) => {
        const [gone, stopped, ...others] = await silent(6);
        if (gone === undefined || stopped === undefined) throw new Error("there are no nodes");
        become([gone], { state: "terminated" });
        become([stopped], { state: "stopped" });
        const before = await names();
        const report = await invoke(how);
        expect(codesOf(report).toSorted()).toEqual(["InstanceStopped", "NotReady", "Stopped"]);
        expect(report.objects.find(({ uid }) => uid === gone.metadata.uid)).toMatchObject({
          outcome: "skipped",
        });
        expect([await names(), (await state()).deletions]).toEqual([before, {}]);
        expect((await cluster.read(stopped.metadata.name)).spec.taints).toContainEqual(
          expect.objectContaining(SHUTDOWN),
        );
        expect(codesOf(await invoke())).toContain("Deleted");
        expect(await names()).toEqual([stopped, ...others].map(({ metadata }) => metadata.name).toSorted());
      },
    );

    test("a stop after the announcement holds the DELETE back until another process continues later", async () => {
      const [gone] = await silent(2);
      if (gone === undefined) throw new Error("there is no node");
      become([gone], { state: "terminated" });
      const sent: string[] = [];
      const between: Between = (request, through) => {
        sent.push(request.method);
        return through();
      };
      // One read at the start and one before the announcement; if the relay writes, one for each invocation.
      const report = await invoke({ between, readStop: createDelayedStop(2, "deletes") });
      expect(report.objects.find(({ uid }) => uid === gone.metadata.uid)).toMatchObject({
        outcome: "skipped",
        because: { code: "Stopped", message: expect.stringContaining("an operator has stopped deletes") },
      });
      expect(sent).toContain("PUT");
      expect(sent).not.toContain("DELETE");
      expect(Object.keys((await state()).deletions)).toEqual([gone.metadata.uid]);
      // Its announcement has expired by then.
      expect(codesOf(await invoke({ atSeconds: 300 }))).toContain("Deleted");
      expect(await names()).not.toContain(gone.metadata.name);
    });

    test("a stop that comes before a deletion is announced keeps that back, too", async () => {
      const [gone] = await silent(2);
      if (gone === undefined) throw new Error("there is no node");
      become([gone], { state: "terminated" });
      expect(codesOf(await invoke({ readStop: createDelayedStop(1, "deletes") }))).toContain("Stopped");
      expect((await state()).deletions).toEqual({});
    });

    test("while the stops are unreadable, nodes of terminated instances are deleted, and nodes of missing ones stay", async () => {
      const [ended, missed, ...others] = await silent(10);
      if (ended === undefined || missed === undefined) throw new Error("there are no nodes");
      await invoke();
      become([missed], { hidden: true });
      become([ended], { state: "terminated" });
      const unreadable = createDelayedStop(0, "unproven");
      await invoke({ atSeconds: 1 });
      const codes = codesOf(await invoke({ atSeconds: 40, readStop: unreadable }));
      expect(codes).toContain("Stopped");
      const left = [missed, ...others].map(({ metadata }) => metadata.name).toSorted();
      expect(await names()).toEqual(left);
      expect(codesOf(await invoke({ atSeconds: 41 }))).toContain("Deleted");
      expect(await names()).not.toContain(missed.metadata.name);
    });

    test.each([
      ["an event that an older function takes for a dry run", { event: { stop: "writes", dryRun: true } }],
      ["a look", { readStop: createDelayedStop(0, "writes") }],
    ] as const)(
      "while all writes are stopped by %s, decisions are reported and not written",
      async (_, how) => {
        const [gone, stopped] = await silent(2);
        if (gone === undefined || stopped === undefined) throw new Error("there are no nodes");
        become([gone], { state: "terminated" });
        become([stopped], { state: "stopped" });
        const sent: string[] = [];
        const between: Between = (request, through) => {
          sent.push(request.method);
          return through();
        };
        const report = await invoke({ ...how, between });
        expect(report.objects).toMatchObject([
          { because: { code: "Stopped" } },
          { because: { code: "Stopped" } },
        ]);
        expect(report.objects.map(({ because }) => because.message).toSorted()).toEqual([
          expect.stringMatching(/^an operator has stopped writes: its instance is gone/),
          expect.stringMatching(
            /^an operator has stopped writes: would patch nodes node-\d+: add \/spec\/taints/,
          ),
        ]);
        expect(sent.filter((method) => method !== "GET")).toEqual([]);
      },
    );
  });
}

function secondsAgo(seconds: number): string {
  return `${new Date(startMs - seconds * 1_000).toISOString().slice(0, 19)}Z`;
}
