import type { StoredObject } from "#emulators/api-server/object.ts";
import { findResource, type Resource } from "#emulators/api-server/resources.ts";
import { createObject, deleteObject, patchObject, type WriteContext } from "#emulators/api-server/write.ts";
import { CONTROL_PLANE_USERS, type ControlPlaneUser } from "#emulators/harness/control-plane.ts";
import type { Transport } from "#kube/client/transport.ts";
import type { Clock } from "#kube/follow/clock.ts";
import { createInProcessApi } from "#test/fuzz/in-process-api.ts";

/** The Services and nodes of a cluster in the lists of one reader at one time. */
export interface ClusterView {
  readonly revision: string;
  readonly services: readonly StoredObject[];
  readonly nodes: readonly StoredObject[];
}

export type Collection = "services" | "nodes";

/** An API server with the Services and nodes of one cluster, as its users change them. */
export interface ModelCluster {
  /** The API server as our functions reach it, without delay. */
  readonly transport: Transport;
  /** The namespace whose uid identifies the whole cluster. */
  readonly kubeSystem: StoredObject;
  /** Creates an object. The uid is the caller's choice if the API server allows it. */
  create(collection: Collection, object: object, uid: string): Promise<void>;
  /** Merges into an object; does nothing if it is not found. */
  merge(collection: Collection, name: string, difference: object, subresource?: "status"): Promise<void>;
  /** Deletes an object; does nothing if it is not found. */
  remove(collection: Collection, name: string): Promise<void>;
  /** Returns what lists contained at that time; by default now. */
  view(atMs?: number): Promise<ClusterView>;
}

const NAMESPACE = "default";

const KUBE_SYSTEM: StoredObject = {
  metadata: {
    name: "kube-system",
    uid: "11111111-1111-4111-8111-111111111111",
    resourceVersion: "",
    creationTimestamp: "2025-01-01T00:00:00Z",
  },
};

/**
 * Creates the embedded API server, called without a socket. Its objects and versions depend only on the
 * requests.
 */
export function createInProcessCluster(clock: Clock, user: ControlPlaneUser): ModelCluster {
  const api = createInProcessApi(clock);
  const { store } = api.context;
  const resources = { services: resourceOf("services"), nodes: resourceOf("nodes") };
  const views: (ClusterView & { readonly atMs: number })[] = [];
  const listed = (resource: Resource) => (store.list(resource) ?? []).map(({ object }) => object);
  const record = (): void => {
    const view = { services: listed(resources.services), nodes: listed(resources.nodes) };
    views.push({ ...view, atMs: clock.now(), revision: String(store.revision) });
  };
  record();
  store.subscribe(({ version: { resource } }) => {
    if (resource !== resources.services && resource !== resources.nodes) return;
    // The listener runs before the object is in the lists.
    queueMicrotask(record);
  });

  const contextOf = (uid: string): WriteContext => ({
    store,
    manager: "user",
    user: CONTROL_PLANE_USERS.admin,
    dryRun: false,
    now: api.context.now(),
    uid: () => uid,
  });
  const requestFor = (collection: Collection, name?: string, subresource?: "status") =>
    ({
      verb: "patch",
      resource: resources[collection],
      namespace: collection === "services" ? NAMESPACE : undefined,
      name,
      subresource,
    }) as const;
  const exists = (collection: Collection, name: string): boolean =>
    store.get(resources[collection], collection === "services" ? `${NAMESPACE}/${name}` : name) !== undefined;

  const kubeSystem = store.put(resourceOf("namespaces"), "kube-system", KUBE_SYSTEM).object;
  return {
    transport: api.transport(user),
    kubeSystem,
    async create(collection, object, uid) {
      createObject(contextOf(uid), requestFor(collection), JSON.stringify(object));
    },
    async merge(collection, name, difference, subresource) {
      if (!exists(collection, name)) return;
      const request = requestFor(collection, name, subresource);
      patchObject(contextOf(""), request, "application/merge-patch+json", JSON.stringify(difference));
    },
    async remove(collection, name) {
      if (exists(collection, name)) deleteObject(contextOf(""), requestFor(collection, name), "");
    },
    async view(atMs = clock.now()) {
      const view = views.findLast((each) => each.atMs <= atMs) ?? views[0];
      if (view === undefined) throw new Error("there is no view of an empty cluster");
      return view;
    },
  };
}

function resourceOf(name: string): Resource {
  const resource = findResource(name);
  if (resource === undefined) throw new Error(`the embedded API server has no ${name}`);
  return resource;
}
