import type { Cloud, CloudCall } from "#clouds/cloud.ts";
import { createMemoryCloud, type MemoryInstances } from "#clouds/memory/cloud.ts";
import { Cluster, type ClusterEntry } from "#config/cluster.ts";
import { nodeController } from "#core/node/controller.ts";
import type { Node } from "#core/node/node.ts";
import { Report } from "#core/report.ts";
import { type EmbeddedControlPlane, startEmbeddedControlPlane } from "#emulators/api-server/start.ts";
import { buildClusterEntry } from "#emulators/harness/clusters-file.ts";
import { createControllerFunction } from "#functions/parts/controller-function.ts";
import type { Dependencies } from "#functions/parts/dependencies.ts";
import type { LogLine } from "#functions/parts/log-report.ts";
import type { FunctionContext } from "#functions/parts/platform-function.ts";
import { buildRunningInstance, getAddress } from "#test/clouds/memory/running-instance.ts";
import { type ClusterUnderTest, startCluster } from "#test/kube/apply/cluster-under-test.ts";

/** One call to the cloud: the nodes in the request, and the share of the quotas. */
export interface AskedCloud {
  readonly names: readonly string[];
  readonly share: number;
}

/** The node function on an embedded API server and the memory cloud, with all that a test looks at or changes. */
export interface FunctionUnderTest {
  readonly api: ClusterUnderTest;
  readonly plane: EmbeddedControlPlane;
  /** The cluster's entry as it is written, and what it comes to. */
  readonly entry: ClusterEntry;
  readonly cluster: Cluster;
  readonly cloud: MemoryInstances;
  readonly asked: readonly AskedCloud[];
  readonly logged: readonly LogLine[];
  /** Registers nodes, each with an instance of its name. */
  join(...names: string[]): Promise<Node[]>;
  /** A valid event about these objects, and the difference. */
  event(objects: readonly unknown[], difference?: Record<string, unknown>): Record<string, unknown>;
  /**
   * Invokes the function as a platform does, with JSON in both directions, in the world as given and the
   * difference.
   */
  invoke(
    event: unknown,
    difference?: Partial<Dependencies>,
    context?: Partial<FunctionContext>,
  ): Promise<Report>;
  /** Requests that the API server had from the functions' identity. */
  requests(): Promise<number>;
  close(): Promise<void>;
}

/** Milliseconds that an invocation has, where a test does not say. */
const REMAINING_MS = 20_000;

export async function startFunction(): Promise<FunctionUnderTest> {
  const planes: EmbeddedControlPlane[] = [];
  const api = await startCluster(async (folder) => {
    const started = await startEmbeddedControlPlane({ folder });
    planes.push(started);
    return started;
  });
  const [plane] = planes;
  if (plane === undefined) throw new Error("the control plane was not started");
  const cloudConfig = { provider: "memory", instancesFile: "instances.json" } as const;
  const controllers = [nodeController.name];
  const entry = buildClusterEntry(plane, { name: "tenant-a", cloud: cloudConfig, controllers });
  const cluster = Cluster.parse(entry);
  const cloud: MemoryInstances = { instances: new Map() };
  const asked: AskedCloud[] = [];
  const logged: LogLine[] = [];
  const world: Dependencies = {
    clusters: async (name) => (name === cluster.name ? cluster : undefined),
    cloud: async () => recorded(createMemoryCloud(cloud), asked),
    api: async () => api.functions,
    now: () => new Date(),
    log: (line) => logged.push(line),
  };
  return {
    api,
    plane,
    entry,
    cluster,
    cloud,
    asked,
    logged,
    join: async (...names) => {
      const nodes: Node[] = [];
      for (const name of names) {
        cloud.instances.set(name, buildRunningInstance(name, getAddress(cloud.instances.size)));
        nodes.push(await api.join({ name }));
      }
      return nodes;
    },
    event: (objects, difference = {}) => ({
      version: 1,
      id: "event-1",
      cluster: cluster.name,
      clusterHash: cluster.hash,
      controller: "cloud-node-controller",
      reason: "watch",
      objects,
      ...difference,
    }),
    invoke: async (event, difference = {}, context = {}) => {
      const invoked = createControllerFunction(nodeController, { ...world, ...difference });
      const platform = {
        awsRequestId: "request-1",
        getRemainingTimeInMillis: () => REMAINING_MS,
        ...context,
      };
      const report = await invoked(JSON.parse(JSON.stringify(event)), platform);
      return Report.parse(JSON.parse(JSON.stringify(report)));
    },
    requests: async () => {
      const records = await plane.record();
      return records.filter(({ user }) => user === "serverless-ccm-node").length;
    },
    close: () => api.close(),
  };
}

function recorded(cloud: Cloud, asked: AskedCloud[]): Cloud {
  return {
    ...cloud,
    instances: (nodes: readonly Node[], call: CloudCall) => {
      asked.push({ names: nodes.map((node) => node.metadata.name), share: call.share });
      return cloud.instances(nodes, call);
    },
  };
}
