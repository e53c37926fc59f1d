import type { Watch } from "#core/controller.ts";
import type { Service } from "#core/service/service.ts";
import { serviceWatch } from "#core/service/watch.ts";
import type { Transport } from "#kube/client/transport.ts";
import type { WorldNode } from "#test/clouds/load-balancer-world.ts";

/** One Service of a cluster, as its owner changes it. */
export interface ServiceObject {
  /** Makes the Service, which has a uid of its own each time. */
  create(service: object): Promise<Service>;
  /** Undefined where it is gone. */
  read(): Promise<Service | undefined>;
  /** Merges into the Service; `null` takes away. */
  merge(difference: object): Promise<void>;
  delete(): Promise<void>;
  /** Deletes it with its finalizers, if it is there. */
  expunge(): Promise<void>;
}

/** The Services and nodes of a cluster, as its owner changes them; of Services, the one that all this is about. */
export interface ClusterObjects extends ServiceObject {
  /** Another Service beside it, by its name. */
  named(name: string): ServiceObject;
  /** Makes the cluster's nodes these. */
  setNodes(nodes: readonly WorldNode[]): Promise<void>;
  /** Expunges all Services but the cluster's own. */
  clear(): Promise<void>;
  /** What an event about Services comes with. */
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
/** It stands for the API server itself. */
const CLUSTERS_OWN = "kubernetes";

/** By an administrator's transport. */
export function clusterObjects(admin: Transport): ClusterObjects {
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
  const merge = (path: string, difference: object): Promise<unknown> =>
    ask("PATCH", path, difference, "application/merge-patch+json");
  const named = (name: string): ServiceObject => {
    const path = `${COLLECTION}/${name}`;
    return {
      create: async (service) => parsed(await ask("POST", COLLECTION, service)),
      read: async () => {
        const object = await ask("GET", path);
        return object === undefined ? undefined : parsed(object);
      },
      merge: async (difference) => void (await merge(path, difference)),
      delete: async () => void (await ask("DELETE", path)),
      expunge: async () => {
        await merge(path, { metadata: { finalizers: null } });
        await ask("DELETE", path);
      },
    };
  };
  return {
    ...named(SERVICE_NAME.name),
    named,
    setNodes: async (nodes) => {
      const { items } = (await ask("GET", "/api/v1/nodes")) as List;
      const wanted = new Map(nodes.map((node) => [node.name, node]));
      for (const { metadata } of items)
        if (!wanted.delete(metadata.name)) await ask("DELETE", `/api/v1/nodes/${metadata.name}`);
      for (const { name, providerID, labels = {} } of wanted.values())
        await ask("POST", "/api/v1/nodes", {
          apiVersion: "v1",
          kind: "Node",
          metadata: { name, labels },
          spec: { providerID },
        });
    },
    clear: async () => {
      const { items } = (await ask("GET", COLLECTION)) as List;
      const names = items.map(({ metadata: { name } }) => name).filter((name) => name !== CLUSTERS_OWN);
      for (const name of names) await named(name).expunge();
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
