import { readFile } from "node:fs/promises";
import type { Cloud } from "#clouds/cloud.ts";
import { Cluster } from "#config/cluster.ts";
import type { Controller } from "#core/controller.ts";
import { nodeController } from "#core/node/controller.ts";
import type { Node } from "#core/node/node.ts";
import { startEmbeddedControlPlane } from "#emulators/api-server/start.ts";
import { createControllerFunction } from "#functions/parts/controller-function.ts";
import { csrController } from "#functions/parts/csr-controller.ts";
import type { Dependencies } from "#functions/parts/dependencies.ts";
import type { LogLine } from "#functions/parts/log-report.ts";
import type { FunctionContext } from "#functions/parts/platform-function.ts";
import { createSigningRequest, toBase64 } from "#test/csr/signing-request.ts";
import { createRecordingTransport, type SentRequest } from "#test/functions/recording-transport.ts";
import { type ClusterUnderTest, startCluster } from "#test/kube/apply/cluster-under-test.ts";

/**
 * Contained in everything of the cloud account that is not the tenant's: the operator may read it, the tenant
 * may not.
 */
export const MARK = "mark5e55";
/** Contained in tokens, which must never be readable. */
export const SECRET = "secret7a11";

/** The properties of a node of the tenant. */
export interface Subject {
  readonly name: string;
  readonly providerID?: string;
  /** Without the taint, as one that says it is initialized. */
  readonly joined?: true;
}

/** What the two sides read of some invocations. */
export interface Read {
  /** Requests that the cluster had from us, whole. */
  readonly sent: readonly SentRequest[];
  /** Reports and log lines, as one text. */
  readonly operator: string;
}

/** Both functions on an embedded API server, which is the tenant's. */
export interface MarkedWorld {
  readonly api: ClusterUnderTest;
  readonly cluster: Cluster;
  join(subject: Subject): Promise<Node>;
  /**
   * Sends nodes and their kubelets' requests for certificates through the functions, when they are young and
   * when they are old.
   */
  run(nodes: readonly Node[], difference?: Difference): Promise<Read>;
  /** Returns the whole content of the cluster. */
  everything(): Promise<string>;
  close(): Promise<void>;
}

/** What of the world of an invocation is otherwise. */
export interface Difference extends Partial<Dependencies> {
  readonly context?: Partial<FunctionContext>;
  readonly event?: Readonly<Record<string, unknown>>;
  /** In place of the node controller's. */
  readonly decide?: Controller["decide"];
}

const AGES_SECONDS = [1, 120];

export async function startMarkedWorld(): Promise<MarkedWorld> {
  const api = await startCluster((folder) => startEmbeddedControlPlane({ folder }));
  const cluster = Cluster.parse({
    name: "tenant-a",
    server: api.plane.server,
    cloud: { provider: "memory", instancesFile: "instances.json" },
  });

  async function run(nodes: readonly Node[], difference: Difference = {}): Promise<Read> {
    const { context = {}, event = {}, decide, ...dependencies } = difference;
    const sent: SentRequest[] = [];
    const lines: LogLine[] = [];
    const reports: unknown[] = [];
    const born = Math.max(...nodes.map(({ metadata }) => Date.parse(metadata.creationTimestamp)));
    const requests = await Promise.all(nodes.map(requestOf));
    for (const ageSeconds of AGES_SECONDS) {
      const world: Dependencies = {
        clusters: async () => cluster,
        cloud: () => Promise.reject(new Error("the test names no cloud")),
        now: () => new Date(born + ageSeconds * 1_000),
        log: (line) => lines.push(line),
        ...dependencies,
        api: async (asked) =>
          createRecordingTransport(await (dependencies.api?.(asked) ?? Promise.resolve(api.functions)), sent),
      };
      const invoke = async (controller: Controller, more: object): Promise<void> => {
        const about = { id: "event-1", version: 1, cluster: cluster.name, clusterHash: cluster.hash };
        const whole = { ...about, controller: controller.name, budget: { share: 1 }, ...more, ...event };
        const platform = { awsRequestId: "r-1", getRemainingTimeInMillis: () => 60_000, ...context };
        const invoked = createControllerFunction(controller, world)(
          JSON.parse(JSON.stringify(whole)),
          platform,
        );
        // A crash is the platform's to report; what it says is the operator's.
        reports.push(await invoked.catch((error: unknown) => String(error)));
      };
      const node = decide === undefined ? nodeController : { ...nodeController, decide };
      await invoke(node as Controller, { reason: "watch", objects: nodes });
      await invoke(node as Controller, { reason: "refresh", objects: nodes });
      const related = { nodes: { resourceVersion: "1", items: nodes } };
      await invoke(csrController as Controller, { reason: "watch", objects: requests, related });
    }
    return { sent, operator: JSON.stringify([reports, lines]) };
  }

  return {
    api,
    cluster,
    async join({ name, providerID, joined }) {
      const node = await api.join({ name, ...(providerID === undefined ? {} : { providerID }) });
      if (joined !== true) return node;
      await api.patch(name, [{ op: "remove", path: "/spec/taints" }]);
      return api.read(name);
    },
    run,
    async everything() {
      return readFile(await api.plane.backup(), "utf8");
    },
    close: () => api.close(),
  };
}

async function requestOf({ metadata: { name, uid, creationTimestamp } }: Node): Promise<unknown> {
  return {
    metadata: { name: `csr-of-${name}`, uid: `csr-${uid}`, resourceVersion: "1", creationTimestamp },
    spec: {
      signerName: "kubernetes.io/kubelet-serving",
      username: `system:node:${name}`,
      groups: ["system:nodes"],
      usages: ["digital signature", "server auth"],
      request: toBase64(await createSigningRequest(name)),
    },
    status: {},
  };
}

/** A cloud for every cluster. */
export function toDependencies(cloud: Cloud): Pick<Dependencies, "cloud"> {
  return { cloud: async () => cloud };
}
