import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import {
  EXCLUDE_FROM_LOAD_BALANCERS_LABEL,
  LOAD_BALANCER_ANNOTATION,
  LOAD_BALANCER_FINALIZER,
} from "#core/contracts.ts";
import { hashText } from "#core/hash.ts";
import { needsWork } from "#core/service/needs-work.ts";
import { Service } from "#core/service/service.ts";
import { DEFAULT_SETTINGS, type Settings } from "#core/settings.ts";
import type { ControlPlane } from "#emulators/harness/control-plane.ts";
import { createDelayedStop } from "#test/functions/delayed-stop.ts";
import {
  type Invocation,
  type ServicesUnderTest,
  type Stored,
  startServices,
} from "#test/functions/services/services-under-test.ts";
import { type ClusterUnderTest, startCluster } from "#test/kube/apply/cluster-under-test.ts";
import { WAIT } from "#test/wait-until-true.ts";

const ANNOTATION = `/metadata/annotations/${LOAD_BALANCER_ANNOTATION.replaceAll("/", "~1")}`;
const TO_CLUSTER_IP = [{ op: "add", path: "/spec/type", value: "ClusterIP" }];
const TO_LOAD_BALANCER = [{ op: "add", path: "/spec/type", value: "LoadBalancer" }];
const SETTINGS: Settings = {
  ...DEFAULT_SETTINGS,
  cluster: "tenant-a",
  cloud: { provider: "memory", instancesFile: "unused" },
};

/** The service-lb-controller on the memory cloud and on one API server, as the identity that it is deployed with. */
export function describeServices(title: string, start: (folder: string) => Promise<ControlPlane>): void {
  describe(`load balancers of Services on ${title}`, () => {
    let cluster: ClusterUnderTest;
    let under: ServicesUnderTest;
    let named = 0;

    beforeAll(async () => {
      cluster = await startCluster(start);
      under = await startServices(cluster);
    });
    afterAll(() => cluster?.close());
    afterEach(() => under.reset());

    const fresh = (): string => `service-${++named}`;
    const join = (name: string): Promise<unknown> =>
      cluster.join({ name, providerID: `memory:///a/${name}` });

    /** Checks the end: one load balancer, published on the Service, and nothing left to do. */
    async function expectServed(service: Stored, targets: readonly string[] = []): Promise<Stored> {
      const stored = (await under.read(service)) as Stored;
      const { uid } = service.metadata;
      const listeners = stored.spec.ports.map(({ port, nodePort }) => ({ protocol: "TCP", port, nodePort }));
      const hostname = `${uid}.memory.example`;
      expect([...under.world.loadBalancers]).toEqual([
        [
          uid,
          { cluster: "tenant-a", service: `default/${stored.metadata.name}`, hostname, listeners, targets },
        ],
      ]);
      expect(stored.status.loadBalancer).toEqual({ ingress: [{ hostname }] });
      expect(stored.metadata.finalizers).toContain(LOAD_BALANCER_FINALIZER);
      expect(needsWork(Service.parse(stored), SETTINGS)).toBe(false);
      return stored;
    }

    /** Checks that nothing of ours is left in the cloud or on the Service. */
    async function expectReleased(service: Stored): Promise<void> {
      const stored = await under.read(service);
      expect(under.world.loadBalancers).toEqual(new Map());
      expect(stored?.metadata.finalizers ?? []).not.toContain(LOAD_BALANCER_FINALIZER);
      expect(stored?.metadata.annotations ?? {}).not.toHaveProperty([LOAD_BALANCER_ANNOTATION]);
      expect(stored?.status.loadBalancer ?? {}).toEqual({});
    }

    test("are made, and cost no call of the cloud while nothing changes", async () => {
      await join("node-a");
      const service = await under.create(fresh());
      const { report } = await under.invoke(service);
      expect(report?.objects).toMatchObject([{ outcome: "changed", namespace: "default" }]);
      await expectServed(service, ["memory:///a/node-a"]);
      expect(under.calls.splice(0)).toEqual(["observe", "count", "CreateLoadBalancer"]);
      const events = ["EnsuredLoadBalancer", "EnsuringLoadBalancer"];
      expect(await under.events(service)).toEqual(events);
      expect((await under.invoke(service)).report?.objects).toMatchObject([{ outcome: "unchanged" }]);
      expect(under.calls).toEqual([]);
      const audit = await under.invoke(service, { reason: "refresh" });
      expect(audit.report).toMatchObject({
        objects: [{ outcome: "unchanged" }],
        usage: { cluster: { writes: 0 } },
      });
      expect(under.calls).toEqual(["observe"]);
    });

    test("are repaired by the audit after someone changed them in the cloud", async () => {
      const service = await under.create(fresh());
      await under.converge(service);
      under.world.loadBalancers.clear();
      await under.invoke(service, { reason: "refresh" });
      await expectServed(service);
    });

    test("follow the nodes, and are kept without any node", async () => {
      await join("node-a");
      const service = await under.create(fresh());
      await under.converge(service);
      await join("node-b");
      await under.invoke(service);
      await expectServed(service, ["memory:///a/node-a", "memory:///a/node-b"]);
      await vi.waitFor(
        async () => expect(await under.events(service)).toContain("UpdatedLoadBalancer"),
        WAIT,
      );
      await cluster.remove("node-a");
      await cluster.remove("node-b");
      await under.converge(service);
      await expectServed(service);
      expect(await under.events(service)).toContain("UnAvailableLoadBalancer");
    });

    describe("a cluster has loadBalancers.max load balancers and no more", () => {
      const FORGED = {
        version: 1,
        state: "applying",
        seen: "",
        desired: "",
        targets: "",
        ingress: "",
        nodes: "",
        at: "2026-01-01T00:00:00Z",
      };

      /** Writes on a Service what ours have, as its tenant can. */
      async function forge(service: Stored): Promise<void> {
        const mark = JSON.stringify({ ...FORGED, uid: service.metadata.uid });
        await under.patch(service, [
          { op: "add", path: "/metadata/annotations", value: { [LOAD_BALANCER_ANNOTATION]: mark } },
          { op: "add", path: "/metadata/finalizers", value: [LOAD_BALANCER_FINALIZER] },
        ]);
      }

      test("whatever a tenant writes to its Services", async () => {
        under.configure({ loadBalancers: { max: 2 } });
        const services = [];
        for (let count = 0; count < 6; count += 1) services.push(await under.create(fresh()));
        for (const service of services) await forge(service);
        for (let round = 0; round < 3; round += 1) {
          for (const service of services) await under.invoke(service);
          under.pass(61);
        }
        expect(under.world.loadBalancers.size).toBe(2);
      });

      test("and existing ones stay, whatever their Services say", async () => {
        const services = [await under.create(fresh()), await under.create(fresh())];
        for (const service of services) await under.converge(service);
        under.configure({ loadBalancers: { max: 1 } });
        for (const service of services) {
          await under.patch(service, [{ op: "remove", path: ANNOTATION }]);
          await under.converge(service);
          expect((await under.read(service))?.metadata.annotations).toHaveProperty([
            LOAD_BALANCER_ANNOTATION,
          ]);
        }
        expect(under.world.loadBalancers.size).toBe(2);
      });
    });

    describe("the load balancers of a cluster have loadBalancers.maxPorts ports and no more", () => {
      const ports = (...numbers: readonly number[]) => numbers.map((port) => ({ name: `p${port}`, port }));
      const listenersOf = (service: Stored) =>
        under.world.loadBalancers.get(service.metadata.uid)?.listeners.map(({ port }) => port);
      const told = async (service: Stored): Promise<unknown> =>
        (await under.invoke(service)).report?.objects[0]?.because;

      test("an added port waits, and what is served stays", async () => {
        under.configure({ loadBalancers: { maxPorts: 3 } });
        const service = await under.create(fresh(), { spec: { ports: ports(80, 443) } });
        await under.converge(service);
        await under.patch(service, [{ op: "replace", path: "/spec/ports", value: ports(80, 443, 81, 82) }]);
        expect(await told(service)).toMatchObject({ code: "TooManyClusterPorts" });
        expect([listenersOf(service), await under.events(service)]).toEqual([
          [80, 443],
          expect.arrayContaining(["SyncLoadBalancerFailed"]),
        ]);
        await under.patch(service, [{ op: "replace", path: "/spec/ports", value: ports(80, 443, 81) }]);
        await under.converge(service);
        expect(listenersOf(service)).toEqual([80, 443, 81]);
      });

      test("a new Service with more than is left gets no load balancer", async () => {
        under.configure({ loadBalancers: { maxPorts: 3 } });
        const first = await under.create(fresh(), { spec: { ports: ports(80, 443) } });
        await under.converge(first);
        const second = await under.create(fresh(), { spec: { ports: ports(80, 443) } });
        expect(await told(second)).toMatchObject({ code: "TooManyClusterPorts" });
        await under.remove(first);
        await under.converge(first);
        under.pass(60);
        await under.converge(second);
        expect(listenersOf(second)).toEqual([80, 443]);
      });
    });

    describe("an event takes nothing away from a Service", () => {
      type Event = Pick<Invocation, "said" | "related">;
      const withSpec = (spec: object) => (service: Stored) => ({
        ...service,
        spec: { ...service.spec, ...spec },
      });
      const withMetadata = (metadata: object) => (service: Stored) => ({
        ...service,
        metadata: { ...service.metadata, ...metadata },
      });
      const withMark = (mark: object) => (service: Stored) => {
        const { annotations = {} } = service.metadata;
        const text = JSON.stringify({ ...JSON.parse(annotations[LOAD_BALANCER_ANNOTATION] ?? ""), ...mark });
        return withMetadata({ annotations: { ...annotations, [LOAD_BALANCER_ANNOTATION]: text } })(service);
      };
      const withNodes =
        (change: (nodes: readonly unknown[]) => readonly unknown[]) => async (): Promise<Event> => {
          const related = await under.related();
          const { resourceVersion = "", items = [] } = related["nodes"] ?? {};
          return { related: { ...related, nodes: { resourceVersion, items: change(items) } } };
        };
      const other = (name: string) => ({ name, providerID: `memory:///a/${name}` });
      const deletionTimestamp = "2026-01-01T00:00:00Z";

      test.each<[string, (service: Stored) => Promise<Event>]>([
        ["that says it is of another type", async () => ({ said: withSpec({ type: "ClusterIP" }) })],
        [
          "that says the same, and that it carries no mark",
          async () => ({
            said: (service) =>
              withMetadata({ annotations: {} })(withSpec({ type: "ClusterIP" })(service) as Stored),
          }),
        ],
        ["that says it is being deleted", async () => ({ said: withMetadata({ deletionTimestamp }) })],
        ["of another class", async () => ({ said: withSpec({ loadBalancerClass: "example.com/other" }) })],
        ["with other ports", async () => ({ said: withSpec({ ports: [{ port: 8080, nodePort: 30_001 }] }) })],
        ["of another Service of its name", async () => ({ said: withMetadata({ uid: "another" }) })],
        [
          "from the time when it was of another type, type and finalizer alike",
          async (service) => {
            await under.patch(service, TO_CLUSTER_IP);
            const old = (await under.read(service)) as Stored;
            await under.patch(service, TO_LOAD_BALANCER);
            return { said: () => old };
          },
        ],
        ["without nodes", withNodes(() => [])],
        [
          "without nodes that says that there never were targets",
          async () => ({
            ...(await withNodes(() => [])()),
            said: withMark({ targets: hashText(JSON.stringify([])) }),
          }),
        ],
        ["that lacks two nodes", withNodes((nodes) => nodes.slice(0, 1))],
        [
          "with as many nodes, two of them others",
          withNodes((nodes) => [...nodes.slice(0, 1), other("x"), other("y")]),
        ],
        ["with as many nodes, one of them three times", withNodes(([first]) => [first, first, first])],
      ])("%s", async (_, forge) => {
        const nodes = Array.from({ length: 3 }, () => `node-${++named}`);
        for (const name of nodes) await join(name);
        const targets = nodes.map((name) => `memory:///a/${name}`).toSorted();
        const service = await under.create(fresh());
        await under.converge(service);
        await expectServed(service, targets);
        const event = await forge(service);
        under.calls.length = 0;
        for (const reason of ["watch", "refresh", "sweep"] as const) {
          await under.invoke(service, { ...event, reason });
          const { spec } = (await under.read(service)) as Stored;
          const listeners = spec.ports.map(({ port, nodePort }) => ({ protocol: "TCP", port, nodePort }));
          expect([...under.world.loadBalancers.values()]).toMatchObject([{ targets, listeners }]);
          under.pass(31);
        }
        expect(under.calls).not.toContain("DeleteLoadBalancer");
        await under.converge(service);
        await expectServed(service, targets);
      });
    });

    /** What happens to a Service that is served, and the expected end. */
    const CHANGES: readonly {
      readonly what: string;
      readonly from: "new" | "served";
      readonly change: (service: Stored) => Promise<unknown>;
      readonly end: "served" | "released";
    }[] = [
      { what: "create", from: "new", change: async () => {}, end: "served" },
      {
        what: "update",
        from: "served",
        change: (service) =>
          // Not a node port: an API server that tries an update once more finds it allocated, by itself.
          under.patch(service, [{ op: "replace", path: "/spec/ports/0/port", value: 8080 }]),
        end: "served",
      },
      { what: "new nodes", from: "served", change: () => join(`node-${++named}`), end: "served" },
      {
        what: "change of type",
        from: "served",
        change: (service) => under.patch(service, TO_CLUSTER_IP),
        end: "released",
      },
      { what: "deletion", from: "served", change: (service) => under.remove(service), end: "released" },
    ];

    test.each(CHANGES)("killed between any two steps of a $what, are finished by the next", async (row) => {
      let steps = 0;
      for (let killedAfter = 0; ; killedAfter += 1) {
        await under.reset();
        const service = await under.create(fresh());
        if (row.from === "served") await under.converge(service);
        await row.change(service);
        const killed = await under.invoke(service, { steps: killedAfter });
        await under.converge(service);
        const targets = [...(await nodeTargets())];
        if (row.end === "served") await expectServed(service, targets);
        else await expectReleased(service);
        steps = killed.steps;
        if (steps < killedAfter) break;
      }
      expect(steps).toBeGreaterThanOrEqual(4);
    });

    describe("keep their last target", () => {
      const NO_NODES = { resourceVersion: "999999", items: [] };
      const targetsNow = (): readonly string[] =>
        [...under.world.loadBalancers.values()].flatMap(({ targets }) => targets);

      /** Excludes a node from load balancers, as a user does by a label. */
      const exclude = (name: string): Promise<void> =>
        cluster.patch(name, [
          { op: "add", path: "/metadata/labels", value: { [EXCLUDE_FROM_LOAD_BALANCERS_LABEL]: "" } },
        ]);

      /** Creates a Service whose load balancer has one node as target. */
      async function servedByOne(): Promise<{ readonly service: Stored; readonly node: string }> {
        const node = `node-${++named}`;
        await join(node);
        const service = await under.create(fresh());
        await under.converge(service);
        expect(targetsNow()).toEqual([`memory:///a/${node}`]);
        return { service, node };
      }

      test("while the API server lists a node, whatever events say and however often", async () => {
        const { service, node } = await servedByOne();
        for (let look = 0; look < 3; look += 1) {
          const related = { ...(await under.related()), nodes: NO_NODES };
          await under.invoke(service, { related, reason: look === 1 ? "refresh" : "watch" });
          expect(targetsNow()).toEqual([`memory:///a/${node}`]);
          under.pass(61);
        }
        await under.converge(service);
        await expectServed(service, [`memory:///a/${node}`]);
      });

      test("until no eligible node is listed twice, 30 s apart, where all are excluded by label", async () => {
        const { service, node } = await servedByOne();
        await exclude(node);
        const { report } = await under.invoke(service);
        expect(report?.objects).toMatchObject([{ outcome: "retry", afterSeconds: 30 }]);
        expect(targetsNow()).toEqual([`memory:///a/${node}`]);
        expect(await under.events(service)).toContain("UnAvailableLoadBalancer");
        under.pass(29);
        await under.invoke(service);
        expect(targetsNow()).toEqual([`memory:///a/${node}`]);
        under.pass(2);
        await under.invoke(service);
        await expectServed(service, []);
      });

      test("where a node comes back between the two", async () => {
        const { service, node } = await servedByOne();
        await cluster.remove(node);
        await under.invoke(service);
        await join(node);
        under.pass(15);
        // The event is older than the node, so only the API server's list counts.
        await under.invoke(service, { related: { ...(await under.related()), nodes: NO_NODES } });
        under.pass(20);
        await cluster.remove(node);
        await under.invoke(service);
        expect(targetsNow()).toEqual([`memory:///a/${node}`]);
        await under.converge(service);
        await expectServed(service, []);
      });

      test("although the annotation was taken off the Service meanwhile", async () => {
        const { service, node } = await servedByOne();
        await under.patch(service, [{ op: "remove", path: ANNOTATION }]);
        await cluster.remove(node);
        await under.invoke(service);
        expect(targetsNow()).toEqual([`memory:///a/${node}`]);
        await under.converge(service);
        await expectServed(service, []);
      });

      test("where the function is killed at any step of taking it away", async () => {
        const { service, node } = await servedByOne();
        await cluster.remove(node);
        await under.invoke(service);
        under.pass(31);
        for (let steps = 1; steps < 12; steps += 1) await under.invoke(service, { steps });
        await under.converge(service);
        await expectServed(service, []);
      });
    });

    async function nodeTargets(): Promise<readonly string[]> {
      const items = (await under.related())["nodes"]?.items ?? [];
      return items.map((item) => String((item as { providerID?: string }).providerID)).sort();
    }

    test("are created once by two concurrent functions, and deleted once", async () => {
      const service = await under.create(fresh());
      await Promise.all([under.invoke(service), under.invoke(service)]);
      await under.converge(service);
      await expectServed(service);
      expect(under.calls.filter((call) => call !== "observe")).toContain("CreateLoadBalancer");
      await under.remove(service);
      await Promise.all([under.invoke(service), under.invoke(service)]);
      await under.converge(service);
      await expectReleased(service);
      expect(await under.read(service)).toBeUndefined();
    });

    test("of a Service that is deleted while they are made are gone in the end, whenever that is", async () => {
      for (let step = 1; step <= 6; step += 1) {
        const service = await under.create(fresh());
        await under.invoke(service, {
          onStep: (taken) => (taken === step ? under.remove(service) : undefined),
        });
        await under.converge(service);
        await expectReleased(service);
      }
    });

    test("follow a type that is switched to and fro, whenever that is", async () => {
      for (let step = 1; step <= 6; step += 1) {
        await under.reset();
        const service = await under.create(fresh());
        await under.invoke(service, {
          onStep: (taken) => (taken === step ? under.patch(service, TO_CLUSTER_IP) : undefined),
        });
        await under.converge(service);
        await under.patch(service, TO_CLUSTER_IP);
        await under.converge(service);
        await expectReleased(service);
        await under.patch(service, TO_LOAD_BALANCER);
        await under.invoke(service, {
          onStep: (taken) => (taken === step ? under.patch(service, TO_CLUSTER_IP) : undefined),
        });
        await under.patch(service, TO_LOAD_BALANCER);
        await under.converge(service);
        await expectServed(service);
      }
    });

    test("of a Service that was deleted by force are not the next one's of that name", async () => {
      const name = fresh();
      const first = await under.create(name);
      await under.converge(first);
      await under.patch(first, [{ op: "add", path: "/metadata/finalizers", value: [] }]);
      await under.remove(first);
      const second = await under.create(name);
      await under.converge(second);
      const hostname = (uid: string) => `${uid}.memory.example`;
      expect([...under.world.loadBalancers.values()].map((each) => each.hostname)).toEqual([
        hostname(first.metadata.uid),
        hostname(second.metadata.uid),
      ]);
      const stored = await under.read(second);
      expect(stored?.status.loadBalancer.ingress).toEqual([{ hostname: hostname(second.metadata.uid) }]);
    });

    test("of a copy with our annotation, as a backup makes it, are its own", async () => {
      const service = await under.create(fresh());
      await under.converge(service);
      const { annotations, finalizers } = (await under.read(service))?.metadata ?? {};
      await under.patch(service, [{ op: "add", path: "/metadata/finalizers", value: [] }]);
      await under.remove(service);
      under.world.loadBalancers.clear();
      const copy = await under.create(fresh(), { metadata: { annotations, finalizers } });
      await under.converge(copy);
      await expectServed(copy);
    });

    test("stay the same ones after a backup restored the Service", async () => {
      const service = await under.create(fresh());
      await under.converge(service);
      const before = (await under.read(service)) as Stored;
      const value = before.metadata.annotations?.[LOAD_BALANCER_ANNOTATION];
      await join("node-later");
      await under.converge(service);
      // The list of nodes that it names is older than any there is, and what it says was applied is not so any more.
      await under.patch(service, [{ op: "add", path: ANNOTATION, value }]);
      await under.converge(service);
      await expectServed(service, ["memory:///a/node-later"]);
      const text = JSON.parse(String(value)) as Record<string, unknown>;
      const ahead = JSON.stringify({ ...text, nodes: "99999999999", at: new Date(0).toISOString() });
      await under.patch(service, [
        { op: "add", path: ANNOTATION, value: ahead },
        { op: "add", path: "/metadata/finalizers", value: [] },
      ]);
      await under.converge(service);
      await expectServed(service, ["memory:///a/node-later"]);
    });

    test("wait for nodes that are as new as those last applied", async () => {
      const older = await under.related();
      await join("node-new");
      const service = await under.create(fresh());
      await under.converge(service);
      const { report } = await under.invoke(service, { related: older });
      expect(report?.objects).toMatchObject([{ outcome: "retry", because: { code: "NodesStale" } }]);
      await expectServed(service, ["memory:///a/node-new"]);
    });

    test("leave what others wrote on the Service", async () => {
      const metadata = { finalizers: ["example.com/first"], annotations: { "example.com/a": "b" } };
      const service = await under.create(fresh(), { metadata });
      await under.converge(service);
      await under.patch(service, [{ op: "add", path: "/metadata/finalizers/-", value: "example.com/last" }]);
      await under.remove(service);
      await under.converge(service);
      const stored = await under.read(service);
      expect(stored?.metadata).toMatchObject({
        finalizers: ["example.com/first", "example.com/last"],
        annotations: { "example.com/a": "b" },
      });
      await expectReleased(service);
    });

    test("of another class are left alone while they live, and released once they are deleted", async () => {
      const finalizers = [LOAD_BALANCER_FINALIZER];
      const spec = { loadBalancerClass: "example.com/lb" };
      const service = await under.create(fresh(), { metadata: { finalizers }, spec });
      const before = await under.read(service);
      expect((await under.invoke(service)).report?.objects).toMatchObject([{ outcome: "unchanged" }]);
      expect((await under.read(service))?.metadata.finalizers).toEqual(finalizers);
      expect(under.calls).toEqual([]);
      expect(before?.metadata.annotations).toBeUndefined();
      await under.remove(service);
      await under.converge(service);
      expect(await under.read(service)).toBeUndefined();
    });

    test("are cleared away and released where a replacement has dropped our annotation and the type", async () => {
      const service = await under.create(fresh());
      await under.converge(service);
      await under.patch(service, [
        { op: "remove", path: "/metadata/annotations" },
        { op: "replace", path: "/spec/type", value: "ClusterIP" },
      ]);
      await under.converge(service);
      const stored = await under.read(service);
      expect(stored?.metadata.finalizers ?? []).toEqual([]);
      expect(stored?.metadata.annotations ?? {}).toEqual({});
      await expectReleased(service);
    });

    test("are refused with a Warning where they cannot be made, and nothing is", async () => {
      const service = await under.create(fresh(), { spec: { allocateLoadBalancerNodePorts: false } });
      const { report } = await under.invoke(service);
      expect(report?.objects).toMatchObject([{ outcome: "retry", because: { code: "NoNodePort" } }]);
      expect([under.calls, await under.events(service)]).toEqual([[], ["SyncLoadBalancerFailed"]]);
      expect((await under.read(service))?.metadata.finalizers).toBeUndefined();
    });

    test("are neither deleted nor cleared while the cloud fails", async () => {
      const service = await under.create(fresh());
      await under.converge(service);
      for (const outage of ["Throttled", "Unavailable", "Denied"] as const) {
        under.world.outage = outage;
        const { report } = await under.invoke(service, { reason: "refresh" });
        expect(report?.objects).toMatchObject([{ outcome: "retry", because: { code: outage } }]);
        under.world.outage = undefined;
        await expectServed(service);
      }
    });

    test("are no more than the cluster may have: older Services first, and those that have one keep it", async () => {
      under.configure({ loadBalancers: { max: 1 } });
      const both = [await under.create(fresh()), await under.create(fresh())];
      // Their creation times may have the same second.
      const [first, second] = both.toSorted((a, b) => (placeOf(a) < placeOf(b) ? -1 : 1)) as [Stored, Stored];
      await under.converge(first);
      const { report } = await under.invoke(second);
      expect(report?.objects).toMatchObject([{ outcome: "retry", because: { code: "LoadBalancerLimit" } }]);
      expect([...under.world.loadBalancers.keys()]).toEqual([first.metadata.uid]);
      expect(await under.events(second)).toEqual(["SyncLoadBalancerFailed"]);
      expect((await under.read(second))?.metadata.finalizers).toBeUndefined();
      await under.remove(first);
      await under.converge(first);
      await under.converge(second);
      await expectServed(second);
    });

    test.each([
      ["from the start", 0],
      // One look when it begins.
      ["right before the cloud is called", 1],
    ])(
      "of a Service that is deleted stay while deletes are stopped %s, and go after that; others are made",
      async (_, looks) => {
        const service = await under.create(fresh());
        await under.converge(service);
        await under.remove(service);
        under.calls.length = 0;
        const { report } = await under.invoke(service, { readStop: createDelayedStop(looks, "deletes") });
        expect(report?.objects).toMatchObject([{ outcome: "skipped", because: { code: "Stopped" } }]);
        expect(under.calls).not.toContain("DeleteLoadBalancer");
        expect([...under.world.loadBalancers.keys()]).toEqual([service.metadata.uid]);
        expect((await under.read(service))?.metadata.finalizers).toHaveLength(1);
        const other = await under.create(fresh());
        await under.invoke(other, { readStop: createDelayedStop(0, "deletes") });
        expect([...under.world.loadBalancers.keys()]).toContain(other.metadata.uid);
        await under.converge(service);
        expect([...under.world.loadBalancers.keys()]).toEqual([other.metadata.uid]);
        expect(await under.read(service)).toBeUndefined();
      },
    );

    test("of a deleted Service are deleted while the stops are unreadable, because the deletion is proven", async () => {
      const service = await under.create(fresh());
      await under.converge(service);
      await under.remove(service);
      await under.invoke(service, { readStop: createDelayedStop(0, "unproven") });
      await under.converge(service);
      expect(under.world.loadBalancers.size).toBe(0);
    });

    test("are not made while writes are stopped, and nothing is written on their Service", async () => {
      const service = await under.create(fresh());
      under.calls.length = 0;
      const { report } = await under.invoke(service, { readStop: createDelayedStop(0, "writes") });
      expect(report?.objects).toMatchObject(
        [
          {
            outcome: "skipped",
            because: { code: "Stopped", message: /^an operator has stopped writes: would patch services/ },
          },
        ].map((each) => ({
          ...each,
          because: { ...each.because, message: expect.stringMatching(each.because.message) },
        })),
      );
      expect(under.world.loadBalancers.size).toBe(0);
      expect((await under.read(service))?.metadata.resourceVersion).toBe(service.metadata.resourceVersion);
    });

    test("a dry run says what would be done, and does nothing", async () => {
      under.configure({ policies: { dryRun: true } });
      const service = await under.create(fresh());
      const { report } = await under.invoke(service);
      const [object] = report?.objects ?? [];
      expect(object).toMatchObject({
        outcome: "skipped",
        because: { code: "DryRun" },
        decision: {
          kind: "change",
          writes: [{ on: "cluster" }, { on: "cloud", action: "CreateLoadBalancer" }],
        },
      });
      expect(under.world.loadBalancers.size).toBe(0);
      expect((await under.read(service))?.metadata.finalizers).toBeUndefined();
    });
  });
}

function placeOf({ metadata: { creationTimestamp, uid } }: Stored): string {
  return `${creationTimestamp} ${uid}`;
}
