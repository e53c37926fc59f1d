import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { buildClusterEvent, renderEvent } from "#core/cluster-events.ts";
import { UNINITIALIZED_TAINT } from "#core/contracts.ts";
import type { Decision, PatchWrite } from "#core/decision.ts";
import type { Instance, InstanceAnswer } from "#core/instance.ts";
import { nodeController } from "#core/node/controller.ts";
import { decideNode } from "#core/node/decide.ts";
import { Node } from "#core/node/node.ts";
import { fingerprintNode } from "#core/node/watch.ts";
import type { ControlPlane } from "#emulators/harness/control-plane.ts";
import { type ApplyOptions, type ApplyResult, applyDecisions } from "#kube/apply/apply.ts";
import type { ApplyItem } from "#kube/apply/context.ts";
import { sendWrite } from "#kube/apply/requests.ts";
import type { Transport } from "#kube/client/transport.ts";
import { type ClusterUnderTest, startCluster } from "#test/kube/apply/cluster-under-test.ts";
import {
  add,
  buildFacts,
  buildNodeWrite,
  buildTest,
  createDecider,
  initialize,
} from "#test/kube/apply/initialization.ts";

const NOW = new Date("2026-03-01T12:00:00Z");
const ANNOTATION = "/metadata/annotations/volumes.kubernetes.io~1controller-managed-attach-detach";
const foreignTaint = { key: "example.com/foreign", effect: "NoExecute" };

const INSTANCE: Instance = {
  id: "i-1",
  account: "memory",
  network: "net-1",
  state: "running",
  providerID: "memory:///zone-a/i-1",
  type: "m1.small",
  zone: "zone-a",
  region: "region-1",
  addresses: [{ type: "InternalIP", address: "10.1.2.3" }],
  labels: {},
};

/** What one write meets, by what the node is like and what is tried on it. */
const ANSWERS: readonly {
  readonly given: string;
  readonly write: (node: Node) => PatchWrite;
  readonly labels?: "none";
  readonly as?: "relay";
  readonly meanwhile?: (cluster: ClusterUnderTest, node: Node) => Promise<unknown>;
  readonly kind: string;
  readonly says?: RegExp;
}[] = [
  {
    given: "a write that fits",
    write: (node) => buildNodeWrite(node, [], [add("/spec/providerID", "memory:///a")]),
    kind: "applied",
  },
  {
    given: "another uid",
    write: (node) => ({
      ...buildNodeWrite(node, [], [add("/spec/providerID", "memory:///a")]),
      precondition: [buildTest("/metadata/uid", "5f0c2b5e-0000-4000-8000-000000000000")],
    }),
    kind: "conflict",
  },
  {
    given: "other addresses",
    write: (node) =>
      buildNodeWrite(node, [buildTest("/status/addresses", null)], [add("/status/addresses", [])], "status"),
    kind: "conflict",
  },
  {
    given: "another taint in the place",
    write: (node) =>
      buildNodeWrite(
        node,
        [buildTest("/spec/taints/0/key", "x")],
        [{ op: "remove", path: "/spec/taints/0" }],
      ),
    kind: "conflict",
  },
  {
    given: "a taint place beyond the list",
    write: (node) =>
      buildNodeWrite(
        node,
        [buildTest("/spec/taints/7/key", "x")],
        [{ op: "remove", path: "/spec/taints/7" }],
      ),
    kind: "conflict",
  },
  {
    given: "a label that is there by now",
    write: (node) =>
      buildNodeWrite(
        node,
        [buildTest("/metadata/labels/kubernetes.io~1os", null)],
        [add("/metadata/labels/a", "b")],
      ),
    kind: "conflict",
  },
  {
    given: "another annotation",
    write: (node) => buildNodeWrite(node, [buildTest(ANNOTATION, "false")], [add("/metadata/labels/a", "b")]),
    kind: "conflict",
  },
  {
    given: "a label added where there is no map",
    labels: "none",
    write: (node) => buildNodeWrite(node, [], [add("/metadata/labels/a", "b")]),
    kind: "conflict",
  },
  {
    given: "the whole map added to an object without it",
    labels: "none",
    write: (node) =>
      buildNodeWrite(node, [buildTest("/metadata/labels", null)], [add("/metadata/labels", { a: "b" })]),
    kind: "applied",
  },
  {
    given: "a label value that Kubernetes refuses",
    write: (node) => buildNodeWrite(node, [], [add("/metadata/labels/a", "-not valid-")]),
    kind: "rejected",
    says: /422: .*metadata\.labels/,
  },
  {
    given: "a provider ID where there is another",
    meanwhile: (cluster, node) => cluster.patch(node.metadata.name, [add("/spec/providerID", "memory:///b")]),
    write: (node) => buildNodeWrite(node, [], [add("/spec/providerID", "memory:///a")]),
    kind: "rejected",
    says: /422: .*providerID/,
  },
  {
    given: "a uid that differs when it is stored",
    write: (node) => buildNodeWrite(node, [], [add("/metadata/uid", "5f0c2b5e-0000-4000-8000-000000000000")]),
    kind: "conflict",
    says: /metadata\.uid/,
  },
  {
    given: "an identity that may not",
    as: "relay",
    write: (node) => buildNodeWrite(node, [], [add("/spec/providerID", "memory:///a")]),
    kind: "rejected",
    says: /403: .*cannot patch/,
  },
  {
    given: "a node that is gone",
    meanwhile: (cluster, node) => cluster.remove(node.metadata.name),
    write: (node) => buildNodeWrite(node, [], [add("/spec/providerID", "memory:///a")]),
    kind: "gone",
  },
];

/** What writing relies on, held against an API server of any make. */
export function describeWrites(name: string, start: (folder: string) => Promise<ControlPlane>): void {
  describe(`writing to ${name}`, () => {
    let cluster: ClusterUnderTest;
    let count = 0;
    beforeAll(async () => {
      cluster = await startCluster(start);
    });
    afterAll(() => cluster?.close());

    const joinNext = (options: object = {}): Promise<Node> => {
      count += 1;
      return cluster.join({ name: `node-${count}`, ...options });
    };
    /** Initializes nodes with the facts of their own place in the list. */
    const bringUp = (nodes: readonly Node[], options: Partial<ApplyOptions> = {}): Promise<ApplyResult> =>
      applyDecisions({
        transport: cluster.functions,
        controller: nodeController,
        items: nodes.map((node, index) => ({
          index,
          object: node,
          decision: initialize(node, buildFacts(index)),
        })),
        decide: createDecider(),
        signal: new AbortController().signal,
        reportingInstance: "contract",
        now: NOW,
        eventsTimeoutMs: 10_000,
        ...options,
      });

    it.each(ANSWERS)("answers $kind to $given", async ({ write, labels, as, meanwhile, kind, says }) => {
      let node = await joinNext();
      if (labels === "none") {
        await cluster.patch(node.metadata.name, [{ op: "remove", path: "/metadata/labels" }]);
        node = await cluster.read(node.metadata.name);
      }
      await meanwhile?.(cluster, node);
      const transport = as === undefined ? cluster.functions : await cluster.transport(as);
      const answer = await sendWrite(transport, write(node), new AbortController().signal);
      expect(answer).toMatchObject({ kind, ...(says && { message: expect.stringMatching(says) }) });
    });

    it("answers a write with the metadata alone", async () => {
      const node = await joinNext();
      const bodies: string[] = [];
      const write = buildNodeWrite(node, [], [add("/spec/providerID", "memory:///a")]);
      const answer = await sendWrite(
        overheard(cluster.functions, bodies),
        write,
        new AbortController().signal,
      );
      const { metadata } = await cluster.read(node.metadata.name);
      expect(answer).toEqual({
        kind: "applied",
        metadata: { uid: metadata.uid, resourceVersion: metadata.resourceVersion },
      });
      expect(bodies.map((body) => JSON.parse(body).kind)).toEqual(["PartialObjectMetadata"]);
    });

    it("brings a node up with exactly two writes and no read", async () => {
      const node = await joinNext({ taints: [foreignTaint] });
      const { objects, usage } = await bringUp([node]);
      const after = await cluster.read(node.metadata.name);
      expect(usage).toEqual({ writes: 2, reads: 0, conflicts: 0, throttled: 0, events: 1, eventsDropped: 0 });
      expect(after.spec).toEqual({
        ...node.spec,
        providerID: buildFacts(0).providerID,
        taints: node.spec.taints?.filter(({ key }) => key !== UNINITIALIZED_TAINT),
      });
      expect(after.spec.taints).toContainEqual(foreignTaint);
      expect(after.status.addresses).toEqual(buildFacts(0).addresses);
      expect(after.metadata.labels).toEqual({ ...node.metadata.labels, ...buildFacts(0).labels });
      expect(objects).toEqual([
        {
          index: 0,
          name: node.metadata.name,
          uid: node.metadata.uid,
          outcome: "changed",
          because: { code: "Initialized", message: "initialized from its instance" },
          resourceVersion: after.metadata.resourceVersion,
          seen: fingerprintNode(after),
        },
      ]);
    });

    it("keeps a foreign taint that was added in between", async () => {
      const node = await joinNext();
      await cluster.patch(node.metadata.name, [add("/spec/taints/0", foreignTaint)]);
      const { objects, usage } = await bringUp([node]);
      const after = await cluster.read(node.metadata.name);
      expect(after.spec.taints).toContainEqual(foreignTaint);
      expect(after.spec.taints?.map(({ key }) => key)).not.toContain(UNINITIALIZED_TAINT);
      expect(objects[0]).toMatchObject({
        outcome: "changed",
        seen: fingerprintNode(after),
      });
      expect(usage).toMatchObject({ conflicts: 1, reads: 1 });
    });

    it("loses nothing of another writer who changes taints at the same time", async () => {
      const nodes = await Promise.all(Array.from({ length: 20 }, () => joinNext()));
      const rival = async (node: Node): Promise<void> => {
        for (const number of [1, 2, 3]) {
          const taint = { key: `example.com/rival-${number}`, effect: "PreferNoSchedule" };
          await cluster.patch(node.metadata.name, [add("/spec/taints/0", taint)]).catch(() =>
            // Without a taint there is no list to add to.
            cluster.patch(node.metadata.name, [add("/spec/taints", [taint])]),
          );
        }
      };
      const [first] = await Promise.all([bringUp(nodes), ...nodes.map(rival)]);
      // Who met more conflicts than a batch allows for is due again, as after any retry.
      const due = first.objects.filter(({ outcome }) => outcome === "retry").map(({ index }) => index);
      const rest = await Promise.all(
        due.map(async (index) => cluster.read(nodes[index]?.metadata.name ?? "")),
      );
      await bringUp(rest);
      for (const node of nodes) {
        const { taints = [] } = (await cluster.read(node.metadata.name)).spec;
        expect(taints.map(({ key }) => key).sort()).toEqual(expect.arrayContaining(["example.com/rival-3"]));
        expect(taints.map(({ key }) => key)).not.toContain(UNINITIALIZED_TAINT);
      }
    });

    it("writes nothing of the old node on one that was made again under its name", async () => {
      const node = await joinNext();
      await cluster.remove(node.metadata.name);
      const successor = await cluster.join({ name: node.metadata.name });
      const { objects } = await bringUp([node]);
      expect(await cluster.read(node.metadata.name)).toEqual(successor);
      expect(objects[0]).toMatchObject({ outcome: "skipped", because: { code: "Replaced" } });
    });

    it("stops between the writes when the node is made again there", async () => {
      const node = await joinNext();
      const { name } = node.metadata;
      const replace = async (): Promise<void> => {
        await cluster.remove(name);
        await cluster.join({ name });
      };
      const { objects } = await bringUp([node], { transport: afterFirstPatch(cluster.functions, replace) });
      const { spec, status } = await cluster.read(name);
      expect(objects[0]).toMatchObject({ outcome: "skipped", because: { code: "Replaced" } });
      expect(spec.providerID).toBeUndefined();
      expect(status.addresses).toEqual([{ type: "Hostname", address: name }]);
    });

    it("counts a node as changed if another writer made its second write unnecessary", async () => {
      const node = await joinNext();
      const { name } = node.metadata;
      const finish = (): Promise<void> => cluster.patch(name, [add("/spec/taints", [foreignTaint])]);
      const { objects } = await bringUp([node], { transport: afterFirstPatch(cluster.functions, finish) });
      expect(objects[0]).toMatchObject({
        outcome: "changed",
        seen: fingerprintNode(await cluster.read(name)),
      });
      expect(await cluster.events(node)).toMatchObject([{ reason: "Synced" }]);
    });

    it("carries out what the core decides, and leaves it nothing more to decide", async () => {
      const node = await joinNext({ taints: [foreignTaint] });
      const answer: InstanceAnswer = { kind: "found", instance: INSTANCE };
      const decide = (read: Node): Decision => decideNode(read, answer, { reason: "watch", now: NOW });
      const decider = { ...createDecider(), decideAgain: (read: unknown) => decide(Node.parse(read)) };
      const items = [{ index: 0, object: node, decision: decide(node) }];
      const { objects, usage } = await bringUp([node], { items, decide: decider });
      const after = await cluster.read(node.metadata.name);
      expect(objects[0]).toMatchObject({
        outcome: "changed",
        resourceVersion: after.metadata.resourceVersion,
        seen: fingerprintNode(after),
      });
      expect(usage).toMatchObject({ writes: 2, reads: 0, conflicts: 0 });
      expect(after.status.addresses).toEqual(expect.arrayContaining([...INSTANCE.addresses]));
      expect(decide(after)).toMatchObject({ kind: "unchanged" });
    });

    it("rewrites the addresses after a kubelet overwrites them, and then removes the taint", async () => {
      const node = await joinNext();
      const { name } = node.metadata;
      const answer: InstanceAnswer = { kind: "found", instance: INSTANCE };
      const decide = (read: Node): Decision => decideNode(read, answer, { reason: "watch", now: NOW });
      const decider = { ...createDecider(), decideAgain: (read: unknown) => decide(Node.parse(read)) };
      const items = [{ index: 0, object: node, decision: decide(node) }];
      const stale = [add("/status/addresses", [{ type: "Hostname", address: name }])];
      const overwrite = (): Promise<void> => cluster.patch(`${name}/status`, stale);
      const transport = afterFirstPatch(cluster.functions, overwrite);
      const { objects, usage } = await bringUp([node], { items, decide: decider, transport });
      const { spec, status } = await cluster.read(name);
      expect(status.addresses).toEqual(expect.arrayContaining([...INSTANCE.addresses]));
      expect(spec.taints?.map(({ key }) => key)).not.toContain(UNINITIALIZED_TAINT);
      expect(objects[0]).toMatchObject({ outcome: "changed" });
      expect(usage).toMatchObject({ writes: 4, reads: 1, conflicts: 1 });
    });

    it("continues after the API server was killed and restarted", async () => {
      const node = await joinNext();
      await cluster.plane.stopServer("SIGKILL");
      const down = await bringUp([node]);
      await cluster.plane.startServer();
      const up = await bringUp([node]);
      expect(down.objects[0]).toMatchObject({ outcome: "retry", because: { code: "Unavailable" } });
      expect(up.objects[0]).toMatchObject({ outcome: "changed" });
    });

    it("skips a node that is gone and does the others", async () => {
      const [gone, stays] = [await joinNext(), await joinNext()];
      await cluster.remove(gone.metadata.name);
      const { objects } = await bringUp([gone, stays]);
      expect(objects).toMatchObject([
        { index: 0, outcome: "skipped", because: { code: "Gone" } },
        { index: 1, outcome: "changed" },
      ]);
    });

    it("reports what another writer has done already as unchanged", async () => {
      const node = await joinNext();
      const { addresses } = buildFacts(0);
      await cluster.patch(`${node.metadata.name}/status`, [add("/status/addresses", addresses)]);
      await cluster.patch(node.metadata.name, [{ op: "remove", path: "/spec/taints/0" }]);
      const { objects, usage } = await bringUp([node]);
      expect(objects[0]).toMatchObject({ outcome: "unchanged", because: { code: "UpToDate" } });
      expect(usage).toMatchObject({ writes: 1, conflicts: 1, reads: 1, events: 0 });
    });

    it("knows what it did itself where answers were lost and writes sent again", async () => {
      const node = await joinNext();
      const { objects, usage } = await bringUp([node], { transport: sendingPatchesTwice(cluster.functions) });
      const after = await cluster.read(node.metadata.name);
      expect(objects[0]).toMatchObject({ outcome: "changed", seen: fingerprintNode(after) });
      expect(usage).toMatchObject({ writes: 2, conflicts: 2, reads: 2, events: 1 });
      expect((await cluster.events(after)).map((event) => event["reason"])).toEqual(["Synced"]);
    });

    it("reports a refusal in the server's words and records a Warning", async () => {
      const node = await joinNext();
      const write = buildNodeWrite(node, [], [add("/metadata/labels/a", "-not valid-")]);
      const { object } = initialize(node, buildFacts(0));
      const because = { code: "Test", message: "a label that Kubernetes refuses" };
      const { objects } = await bringUp([node], {
        items: [
          {
            index: 0,
            object: node,
            decision: { kind: "change", object, because, writes: [write], events: [], warnings: [] },
          },
        ],
      });
      expect(objects[0]).toMatchObject({
        outcome: "retry",
        because: { code: "Rejected", message: expect.stringContaining("metadata.labels") },
        afterSeconds: 30,
      });
      expect(await cluster.events(node)).toMatchObject([{ type: "Warning", reason: "NodeUpdateRejected" }]);
    });

    it("records an Event once, on the node's uid, however often it is reported", async () => {
      const node = await joinNext();
      const { object } = initialize(node, buildFacts(0));
      const event = buildClusterEvent("InvalidProviderID", "InvalidProviderID", {});
      const because = { code: "NoInstance", message: "no instance yet" };
      const items: ApplyItem[] = [
        {
          index: 0,
          object: node,
          decision: { kind: "retry", object, because, afterSeconds: 7, events: [event] },
        },
      ];
      const first = await bringUp([node], { items });
      const second = await bringUp([node], { items });
      expect([first.usage.events, second.usage.events, second.usage.eventsDropped]).toEqual([1, 1, 0]);
      expect(first.objects[0]).toMatchObject({ outcome: "retry", because, afterSeconds: 7 });
      expect(await cluster.events(node)).toMatchObject([
        {
          involvedObject: {
            apiVersion: "v1",
            kind: "Node",
            name: node.metadata.name,
            uid: node.metadata.uid,
          },
          source: { component: "cloud-node-controller" },
          reportingComponent: "cloud-node-controller",
          reportingInstance: "contract",
          firstTimestamp: "2026-03-01T12:00:00Z",
          lastTimestamp: "2026-03-01T12:00:00Z",
          count: 1,
          ...renderEvent(event),
        },
      ]);
    });

    it("shows every node with its address before its taint goes", async () => {
      const nodes = await Promise.all(Array.from({ length: 100 }, () => joinNext()));
      const seen: Node[] = [];
      const transport = afterEachPatch(cluster.functions, async (name) => {
        seen.push(await cluster.read(name));
      });
      const { objects } = await bringUp(nodes, { transport });
      expect(objects.filter(({ outcome }) => outcome === "changed")).toHaveLength(100);
      const untainted = seen.filter(
        ({ spec }) => !spec.taints?.some(({ key }) => key === UNINITIALIZED_TAINT),
      );
      expect(untainted).toHaveLength(100);
      for (const { status } of untainted)
        expect(status.addresses?.map(({ type }) => type)).toEqual(["InternalIP"]);
    });
  });
}

function overheard(transport: Transport, bodies: string[]): Transport {
  return {
    ...transport,
    send: async (request) => {
      const response = await transport.send(request);
      bodies.push(response.body);
      return response;
    },
  };
}

function afterEachPatch(transport: Transport, act: (name: string) => Promise<void>): Transport {
  return {
    ...transport,
    send: async (request) => {
      const response = await transport.send(request);
      if (request.method === "PATCH") await act(request.path.split(/[/?]/)[4] ?? "");
      return response;
    },
  };
}

function afterFirstPatch(transport: Transport, act: () => Promise<void>): Transport {
  let acted = false;
  return afterEachPatch(transport, async () => {
    if (acted) return;
    acted = true;
    await act();
  });
}

/** As a transport does that loses the answer to a patch: it sends it again, and hands on the second answer. */
function sendingPatchesTwice(transport: Transport): Transport {
  return {
    ...transport,
    send: async (request) => {
      if (request.method === "PATCH") await transport.send(request);
      return transport.send(request);
    },
  };
}
