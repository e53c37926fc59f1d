import { afterAll, beforeAll, expect, test } from "vitest";
import { createMemoryCloud, type MemoryInstances } from "#clouds/memory/cloud.ts";
import { Cluster } from "#config/cluster.ts";
import { nodeController } from "#core/node/controller.ts";
import type { Node } from "#core/node/node.ts";
import { parseJson } from "#core/parse-json.ts";
import { Report } from "#core/report.ts";
import { buildClusterEntry } from "#emulators/harness/clusters-file.ts";
import { startKubeApiserver } from "#emulators/harness/kube-apiserver.ts";
import { createControllerFunction } from "#functions/parts/controller-function.ts";
import {
  type ClusterUnderTest,
  type RecordedEvent,
  startCluster,
} from "#test/kube/apply/cluster-under-test.ts";
import { describeWithPart } from "#test/setup/parts.ts";

describeWithPart("control-plane", "a node that cannot be initialized, on a real API server", (binaries) => {
  let api: ClusterUnderTest;
  const cloud: MemoryInstances = { instances: new Map() };
  beforeAll(async () => {
    api = await startCluster((folder) => startKubeApiserver({ folder, binaries }));
  });
  afterAll(() => api?.close());

  /** Invokes as a relay that returns no recorded Events does. */
  async function pass(node: Node, now: Date): Promise<string> {
    const cluster = Cluster.parse(
      buildClusterEntry(api.plane, {
        name: "tenant-a",
        cloud: { provider: "memory", instancesFile: "none" },
      }),
    );
    const invoked = createControllerFunction(nodeController, {
      clusters: async () => cluster,
      cloud: async () => createMemoryCloud(cloud),
      api: async () => api.functions,
      now: () => now,
      log: () => undefined,
    });
    const event = {
      version: 1,
      id: "event-1",
      cluster: cluster.name,
      clusterHash: cluster.hash,
      controller: nodeController.name,
      reason: "retry",
      objects: [node],
    };
    const platform = { awsRequestId: "request-1", getRemainingTimeInMillis: () => 20_000 };
    const { objects } = Report.parse(await invoked(JSON.parse(JSON.stringify(event)), platform));
    return objects.map(({ because }) => because.code).join();
  }

  /** What `kubectl describe node` asks for: by the node's uid, and by its name as a uid, as kubelets write it. */
  async function described({ metadata: { name, uid } }: Node): Promise<readonly RecordedEvent[]> {
    const admin = await api.transport("admin");
    const lists = await Promise.all(
      [uid, name].map(async (each) => {
        const selector = {
          "involvedObject.name": name,
          "involvedObject.namespace": "",
          "involvedObject.kind": "Node",
          "involvedObject.uid": each,
        };
        const fieldSelector = Object.entries(selector).map(([key, value]) => `${key}=${value}`);
        const query = new URLSearchParams({ fieldSelector: fieldSelector.join(","), limit: "500" });
        const { status, body } = await admin.send({ method: "GET", path: `/api/v1/events?${query}` });
        if (status !== 200) throw new Error(`${status} ${body}`);
        return (parseJson(body) as { readonly items: readonly RecordedEvent[] }).items;
      }),
    );
    return lists.flat();
  }

  test("says in one Warning of ten minutes why, and kubectl describe finds it", async () => {
    const node = await api.join({ name: "stuck.example.com" });
    const other = await api.join({ name: "other.example.com" });
    // In the middle of such ten minutes, and a minute after the node came.
    const created = Date.parse(node.metadata.creationTimestamp) + 61_000;
    const now = new Date(Math.ceil(created / 600_000) * 600_000 + 60_000);
    const later = (minutes: number) => new Date(now.getTime() + minutes * 60_000);

    expect(await pass(node, now)).toBe("InstanceNotFound");
    expect(await pass(node, later(1))).toBe("InstanceNotFound");
    cloud.outage = "Ambiguous";
    expect(await pass(node, later(2))).toBe("Ambiguous");
    expect(await pass(other, now)).toBe("Ambiguous");
    expect(await described(node)).toMatchObject([
      {
        type: "Warning",
        reason: "CloudInitializationFailed",
        message: expect.stringMatching(/^No instance of the cloud .* log has details\.$/),
        involvedObject: { kind: "Node", name: node.metadata.name, uid: node.metadata.uid },
        source: { component: "cloud-node-controller" },
      },
    ]);
    expect(await described(other)).toHaveLength(1);

    expect(await pass(node, later(10))).toBe("Ambiguous");
    const starts = (await described(node)).map(({ message }) => String(message).slice(0, 20));
    expect(starts.toSorted()).toEqual(["No instance of the c", "The node's name or a"]);
  });
});
