import type { Watch } from "#core/controller.ts";
import type { Service } from "#core/service/service.ts";
import { serviceWatch } from "#core/service/watch.ts";
import type { Transport } from "#kube/client/transport.ts";

/** The Services and nodes of a cluster, as its owner changes them. */
export interface ClusterObjects {
  /** Makes the Service, which has a uid of its own each time. */
  create(service: object): Promise<Service>;
  /** Undefined where it is gone. */
  read(): Promise<Service | undefined>;
  /** Merges into the Service; `null` takes away. */
  merge(difference: object): Promise<void>;
  delete(): Promise<void>;
  /** Deletes it with its finalizers, if it is there. */
  expunge(): Promise<void>;
  /** Makes the cluster's nodes those of these instances. */
  setNodes(instances: readonly string[]): Promise<void>;
  /** What an event about the Service comes with. */
  related(): Promise<Related>;
}

/** As events have it. */
export type Related = Readonly<
  Record<string, { readonly resourceVersion: string; readonly items: readonly unknown[] }>
>;

interface List {
  readonly metadata: { readonly resourceVersion: string };
  readonly items: readonly { readonly metadata: { readonly name: string } }[];
}

/** The one Service that all this is about. */
export const SERVICE_NAME = { namespace: "default", name: "web" } as const;
const COLLECTION = `/api/v1/namespaces/${SERVICE_NAME.namespace}/services`;
const PATH = `${COLLECTION}/${SERVICE_NAME.name}`;

/** By an administrator's transport. */
export function clusterObjects(admin: Transport, zone: string): ClusterObjects {
  const ask = async (
    method: "GET" | "POST" | "PATCH" | "DELETE",
    path: string,
    body?: unknown,
    contentType?: string,
  ): Promise<unknown> => {
    const answer = await admin.send({
      method,
      path,
      ...(body === undefined ? {} : { body }),
      ...(contentType === undefined ? {} : { contentType }),
    });
    if (answer.status === 404) return undefined;
    if (answer.status >= 300)
      throw new Error(`${method} ${path} was answered ${answer.status}: ${answer.body}`);
    return JSON.parse(answer.body);
  };
  return {
    create: async (service) => parsed(await ask("POST", COLLECTION, service)),
    read: async () => {
      const object = await ask("GET", PATH);
      return object === undefined ? undefined : parsed(object);
    },
    merge: async (difference) => void (await ask("PATCH", PATH, difference, "application/merge-patch+json")),
    delete: async () => void (await ask("DELETE", PATH)),
    expunge: async () => {
      await ask("PATCH", PATH, { metadata: { finalizers: null } }, "application/merge-patch+json");
      await ask("DELETE", PATH);
    },
    setNodes: async (instances) => {
      const { items } = (await ask("GET", "/api/v1/nodes")) as List;
      const wanted = new Set(instances);
      for (const { metadata } of items)
        if (!wanted.delete(metadata.name)) await ask("DELETE", `/api/v1/nodes/${metadata.name}`);
      for (const name of wanted)
        await ask("POST", "/api/v1/nodes", {
          apiVersion: "v1",
          kind: "Node",
          metadata: { name },
          spec: { providerID: `aws:///${zone}/${name}` },
        });
    },
    related: async () => {
      const lists = serviceWatch.related.map(async ({ resource, project }) => {
        const { metadata, items } = (await ask("GET", `/api/v1/${resource.name}`)) as List;
        const projected = items.map(project).filter((item) => item !== undefined);
        return [resource.name, { resourceVersion: metadata.resourceVersion, items: projected }] as const;
      });
      return Object.fromEntries(await Promise.all(lists));
    },
  };
}

function parsed(object: unknown): Service {
  const answer = (serviceWatch as Watch<Service>).parse(object);
  if (answer.kind === "object") return answer.object;
  throw new Error(`the API server stored a Service that is none: ${JSON.stringify(answer.faults)}`);
}
