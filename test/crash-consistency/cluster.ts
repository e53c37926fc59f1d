import type { Service } from "#core/service/service.ts";
import { serviceWatch } from "#core/service/watch.ts";
import type { Watch } from "#core/watch.ts";
import type { Transport } from "#kube/client/transport.ts";
import type { WorldNode } from "#test/clouds/load-balancer-world.ts";

/** One Service of a cluster, as its owner changes it. */
export interface ServiceObject {
  /** Creates the Service with a new uid. */
  create(service: object): Promise<Service>;
  /** Returns undefined if the Service is not found. */
  read(): Promise<Service | undefined>;
  /** Merges into the Service; `null` removes a field. */
  merge(difference: object): Promise<void>;
  delete(): Promise<void>;
  /** Deletes the Service and its finalizers, if it exists. */
  expunge(): Promise<void>;
}

/**
 * The Services and nodes of a cluster, as its owner changes them. Its own methods act on the Service under
 * test.
 */
export interface ClusterObjects extends ServiceObject {
  /** Another Service of the cluster. */
  named(name: string): ServiceObject;
  /** Replaces the cluster's nodes. */
  setNodes(nodes: readonly WorldNode[]): Promise<void>;
  /** Deletes all Services except the cluster's own. */
  clear(): Promise<void>;
  /** Returns the related objects of an event about Services. */
  related(): Promise<Related>;
}

/** Related objects in the form that events have. */
export type Related = Readonly<
  Record<string, { readonly resourceVersion: string; readonly items: readonly unknown[] }>
>;

interface List {
  readonly metadata: { readonly resourceVersion: string };
  readonly items: readonly { readonly metadata: { readonly name: string } }[];
}

/** The Service under test. */
export const SERVICE_NAME = { namespace: "default", name: "web" } as const;
const COLLECTION = `/api/v1/namespaces/${SERVICE_NAME.namespace}/services`;
/** The Service of the API server itself. */
const CLUSTERS_OWN = "kubernetes";

/** Uses an administrator's transport. */
export function createClusterObjects(admin: Transport): ClusterObjects {
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
  throw new Error(`the API server stored an invalid Service: ${JSON.stringify(answer.faults)}`);
}
