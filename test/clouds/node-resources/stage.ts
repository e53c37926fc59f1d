import type { Cloud } from "#clouds/cloud.ts";
import type { EventReason } from "#core/event.ts";
import type { Report } from "#core/report.ts";
import { createControllerFunction } from "#functions/parts/controller-function.ts";
import type { Transport } from "#kube/client/transport.ts";
import { askForJson } from "#test/ask.ts";
import type { NodeResourcesWorld } from "#test/clouds/node-resources/world.ts";
import type { ClusterUnderTest } from "#test/kube/apply/cluster-under-test.ts";

/** An object as the API server has it. */
export interface StoredObject {
  readonly metadata: Readonly<Record<string, unknown>> & { readonly name: string; readonly uid: string };
  readonly spec?: Readonly<Record<string, unknown>>;
}

/** False input of the function. */
export interface Forgery {
  /** The cluster of the event; default: the victim's. Both have the same API server. */
  readonly cluster?: "victim" | "hostile";
  /** The nodes that the event brings. */
  readonly nodes?: (nodes: readonly StoredObject[]) => readonly object[];
  /** Changes the namespace that represents the cluster in the event. */
  readonly namespace?: (namespace: StoredObject) => object;
  /** The API server's answer to a list and a count of nodes; default: the real nodes. */
  readonly listed?: readonly object[];
}

/** Nodes of one API server, and a controller that keeps their cloud resources. */
export interface NodeStage {
  join(name: string, providerID: string, podCIDR: string, metadata?: object): Promise<void>;
  remove(name: string): Promise<void>;
  /** Invokes the function for a change and for the sweep, each twice: a removal is due the second time. */
  invokeAll(forgery?: Forgery): Promise<void>;
  reset(): Promise<void>;
}

const NAMESPACE = "/api/v1/namespaces/kube-system";
const NODES = "/api/v1/nodes";
const REASONS: readonly EventReason[] = ["watch", "sweep"];

/** Longer than any wait before a removal. */
const LONG_AGO_SECONDS = 3_600;

/** Sets the stage on a running API server. */
export async function startNodeStage(
  cluster: ClusterUnderTest,
  world: NodeResourcesWorld,
): Promise<NodeStage> {
  const admin = await cluster.transport("admin");
  const api = await cluster.transport(world.signedInAs);
  const ask = (method: "GET" | "POST" | "DELETE", path: string, body?: unknown): Promise<unknown> =>
    askForJson(admin, { method, path, ...(body === undefined ? {} : { body }) });
  const listNodes = async (): Promise<readonly StoredObject[]> =>
    ((await ask("GET", NODES)) as { items: readonly StoredObject[] }).items;

  async function invoke(
    reason: EventReason,
    candidates: readonly string[],
    forgery: Forgery,
  ): Promise<Report | undefined> {
    const { nodes = (stored) => stored, namespace = (stored) => stored, listed } = forgery;
    const entry = world.entry(forgery.cluster ?? "victim");
    // The cloud remembers nothing of an earlier process.
    const cloud: Cloud = world.connect(entry);
    const stored = (await ask("GET", NAMESPACE)) as StoredObject;
    const run = createControllerFunction(world.controller, {
      clusters: async () => entry,
      cloud: async () => cloud,
      api: async () => (listed === undefined ? api : answeringWith(api, listed)),
      now: () => new Date(),
    });
    const uid = (namespace(stored) as StoredObject).metadata.uid;
    try {
      return await run(
        {
          version: 1,
          id: "event-1",
          cluster: entry.name,
          clusterHash: entry.hash,
          controller: world.controller.name,
          reason,
          objects: [namespace(stored)],
          hints: { [uid]: { candidates: candidates.map((id) => ({ id, seconds: LONG_AGO_SECONDS })) } },
          related: {
            nodes: {
              resourceVersion: "1",
              items: nodes(await listNodes()).flatMap((node) => world.related.project(node) ?? []),
            },
          },
        },
        { awsRequestId: "1", getRemainingTimeInMillis: () => 30_000 },
      );
    } finally {
      await cloud.close();
    }
  }

  return {
    async join(name, providerID, podCIDR, metadata = {}) {
      const spec = { providerID, podCIDR, podCIDRs: [podCIDR] };
      await ask("POST", NODES, { apiVersion: "v1", kind: "Node", metadata: { ...metadata, name }, spec });
    },
    async remove(name) {
      await ask("DELETE", `${NODES}/${name}`);
    },
    async invokeAll(forgery = {}) {
      for (const reason of REASONS) {
        const report = await invoke(reason, [], forgery);
        const due = report?.objects.flatMap(({ candidates = [] }) => candidates) ?? [];
        await invoke(reason, due, forgery);
      }
    },
    async reset() {
      for (const { metadata } of await listNodes()) {
        await cluster.patch(metadata.name, [{ op: "add", path: "/metadata/finalizers", value: [] }]);
        await ask("DELETE", `${NODES}/${metadata.name}`).catch(() => undefined);
      }
      await world.reset();
    },
  };
}

/** Returns an API server that answers lists and counts of nodes as its tenant likes. */
function answeringWith(api: Transport, listed: readonly object[]): Transport {
  const body = JSON.stringify({ metadata: { resourceVersion: "1" }, items: listed });
  return {
    ...api,
    send: async (request) =>
      request.method === "GET" && request.path.startsWith(`${NODES}?`)
        ? { status: 200, headers: {}, body }
        : api.send(request),
  };
}
