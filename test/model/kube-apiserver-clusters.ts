import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { StoredObject } from "#emulators/api-server/object.ts";
import type { ControlPlaneUsers } from "#emulators/harness/control-plane.ts";
import { type ControlPlaneBinaries, startKubeApiserver } from "#emulators/harness/kube-apiserver.ts";
import { connect } from "#kube/client/connect.ts";
import type { Transport } from "#kube/client/transport.ts";
import type { Clock } from "#kube/follow/clock.ts";
import { getConnectOptions } from "#test/access.ts";
import type { ClusterView, Collection, ModelCluster } from "./cluster.ts";

/** A real kube-apiserver with the rights and admission policies of infra/, for histories in sequence. */
export interface KubeApiserverClusters {
  /** Creates an empty cluster. The previous one must not be used any more. */
  createCluster(clock: Clock): Promise<ModelCluster>;
  close(): Promise<void>;
}

const PATHS = { services: "/api/v1/namespaces/default/services", nodes: "/api/v1/nodes" } as const;

/** The Service of the API server itself. */
const OWN_SERVICE = "kubernetes";

interface List {
  readonly metadata: { readonly resourceVersion: string };
  readonly items: readonly StoredObject[];
}

export async function startKubeApiserverClusters(
  binaries: ControlPlaneBinaries,
  user: keyof ControlPlaneUsers,
  manifests: readonly string[],
): Promise<KubeApiserverClusters> {
  const folder = await mkdtemp(join(tmpdir(), "model-"));
  const plane = await startKubeApiserver({ folder, binaries });
  for (const path of [...manifests, "admission"])
    await plane.apply(fileURLToPath(new URL(`../../infra/${path}`, import.meta.url)));
  const admin = connect(await getConnectOptions(plane, "admin"));
  const function_ = connect(await getConnectOptions(plane, user));

  async function ask(
    method: "GET" | "POST" | "PATCH" | "DELETE",
    path: string,
    body?: unknown,
  ): Promise<unknown> {
    const contentType = method === "PATCH" ? { contentType: "application/merge-patch+json" } : {};
    const request = { method, path, ...contentType, ...(body === undefined ? {} : { body }) };
    const answer = await admin.send(request);
    // Edits that no longer fit the object are rejected and change nothing.
    if (answer.status === 404 || (answer.status === 422 && method === "PATCH")) return undefined;
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${answer.body}`);
    return JSON.parse(answer.body);
  }
  const list = async (collection: Collection): Promise<List> => (await ask("GET", PATHS[collection])) as List;
  const servicesIn = ({ items }: List): readonly StoredObject[] =>
    items.filter(({ metadata: { name } }) => name !== OWN_SERVICE);

  return {
    async createCluster(clock) {
      for (const { metadata } of servicesIn(await list("services"))) {
        await ask("PATCH", `${PATHS.services}/${metadata.name}`, { metadata: { finalizers: null } });
        await ask("DELETE", `${PATHS.services}/${metadata.name}`);
      }
      for (const { metadata } of (await list("nodes")).items)
        await ask("DELETE", `${PATHS.nodes}/${metadata.name}`);
      const views: (ClusterView & { readonly atMs: number })[] = [];
      const record = async (): Promise<void> => {
        const [services, nodes] = [await list("services"), await list("nodes")];
        const revision = nodes.metadata.resourceVersion;
        views.push({ atMs: clock.now(), revision, services: servicesIn(services), nodes: nodes.items });
      };
      await record();
      const kubeSystem = (await ask("GET", "/api/v1/namespaces/kube-system")) as StoredObject;
      return {
        transport: recorded(function_, record),
        kubeSystem,
        async create(collection, object) {
          await ask("POST", PATHS[collection], object);
          await record();
        },
        async merge(collection, name, difference, subresource) {
          const path = `${PATHS[collection]}/${name}${subresource === undefined ? "" : `/${subresource}`}`;
          await ask("PATCH", path, difference);
          await record();
        },
        async remove(collection, name) {
          await ask("DELETE", `${PATHS[collection]}/${name}`);
          await record();
        },
        async view(atMs = clock.now()) {
          const view = views.findLast((each) => each.atMs <= atMs) ?? views[0];
          if (view === undefined) throw new Error("there is no view of an empty cluster");
          return view;
        },
      };
    },
    async close() {
      await Promise.all([admin.close(), function_.close()]);
      await plane.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Records the content of lists after each change. */
function recorded(inner: Transport, record: () => Promise<void>): Transport {
  return {
    ...inner,
    async send(request) {
      const answer = await inner.send(request);
      if (request.method !== "GET" && !request.path.includes("/events")) await record();
      return answer;
    },
  };
}
