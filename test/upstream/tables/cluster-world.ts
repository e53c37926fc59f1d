import { Readable } from "node:stream";
import type { Cloud } from "#clouds/cloud.ts";
import { Cluster } from "#config/cluster.ts";
import type { Controller } from "#core/controller.ts";
import type { JsonObject, StoredObject } from "#emulators/api-server/object.ts";
import { findResource } from "#emulators/api-server/resources.ts";
import { CONTROL_PLANE_USERS } from "#emulators/harness/control-plane.ts";
import type { ApiRequest, Transport } from "#kube/client/transport.ts";
import { startRelay } from "#relay/relay.ts";
import { createInProcessApi } from "#test/fuzz/in-process-api.ts";
import { createInvocations } from "#test/fuzz/invocations.ts";
import { createManualClock } from "#test/kube/follow/manual-clock.ts";

/** A cluster with one relay and its functions in this process, on a clock of its own. */
export interface ClusterWorld {
  /** The number of changes by controllers to objects of this name, since the last `forget`. */
  writes(name: string): number;
  /** The number of invocations, since the last `forget`. */
  invocations(): number;
  forget(): void;
  /** Creates or replaces an object, with its status, as its owners would have. */
  put(collection: Collection, object: object): void;
  remove(collection: Collection, name: string): void;
  get(collection: Collection, name: string): StoredObject | undefined;
  /** Lets time pass, with everything that follows from it. */
  advance(seconds: number): Promise<void>;
  now(): Date;
  close(): Promise<void>;
}

export type Collection = "nodes" | "services";

interface WorldOptions {
  readonly controller: Controller;
  readonly cloud: Cloud;
  /** Settings of the cluster's entry, such as `nodes`. */
  readonly settings?: Readonly<Record<string, unknown>>;
  /** Objects that exist before the relay starts. */
  readonly objects?: readonly (readonly [Collection, object])[];
  /** The API server answers these requests with 500. */
  readonly isFailing?: (request: ApiRequest) => boolean;
}

/** Creates the cluster and starts its relay. */
export async function createClusterWorld(options: WorldOptions): Promise<ClusterWorld> {
  const { controller, cloud, settings = {}, objects = [] } = options;
  const clock = createManualClock();
  const api = createInProcessApi(clock);
  const { store } = api.context;
  const collections = { nodes: resourceOf("nodes"), services: resourceOf("services") };
  store.put(resourceOf("configmaps"), "kube-system/serverless-ccm", STATE);
  const cluster = Cluster.parse({
    name: "tenant-a",
    server: "https://in-process",
    cloud: { provider: "memory", instancesFile: "instances.json" },
    controllers: [controller.name],
    ...settings,
  });
  const transport = failSome(api.transport(CONTROL_PLANE_USERS.admin), options.isFailing);
  const broken: string[] = [];
  const invocations = createInvocations({
    cluster,
    controllers: [controller],
    cloud,
    transportOf: () => transport,
    clock,
    latencyMs: () => 1,
    violated: (what) => void broken.push(what),
  });
  const written: string[] = [];
  let isOurs = true;
  store.subscribe(({ version: { resource, object } }) => {
    if (isOurs && Object.values(collections).includes(resource)) written.push(object.metadata.name);
  });
  let uids = 0;
  const keyOf = (collection: Collection, name: string): string =>
    collection === "services" ? `default/${name}` : name;
  const put: ClusterWorld["put"] = (collection, object) => {
    const { metadata, ...rest } = object as JsonObject & { readonly metadata: JsonObject };
    const key = keyOf(collection, String(metadata["name"]));
    const existing = store.get(collections[collection], key)?.object.metadata;
    uids += 1;
    const identity = {
      uid: existing?.uid ?? `00000000-0000-4000-8000-${String(uids).padStart(12, "0")}`,
      creationTimestamp: existing?.creationTimestamp ?? "2012-01-01T00:00:00Z",
    };
    const whole = { ...rest, metadata: { ...identity, ...metadata, resourceVersion: "" } };
    isOurs = false;
    store.put(
      collections[collection],
      key,
      collections[collection].prepare(whole as unknown as StoredObject, false),
    );
    isOurs = true;
  };
  for (const [collection, object] of objects) put(collection, object);
  let before = 0;
  const relay = startRelay({
    clusters: [{ cluster, transport }],
    invoker: invocations.invoker("the relay"),
    identity: "tables",
    nodeStatusUpdateFrequencySeconds: 300,
    watches: [controller],
    clock,
    random: () => 0.5,
  });
  return {
    writes: (name) => written.filter((each) => each === name).length,
    invocations: () => invocations.count() - before,
    forget() {
      written.length = 0;
      before = invocations.count();
    },
    put,
    remove(collection, name) {
      const version = store.get(collections[collection], keyOf(collection, name));
      isOurs = false;
      if (version !== undefined) store.delete(version);
      isOurs = true;
    },
    get: (collection, name) => store.get(collections[collection], keyOf(collection, name))?.object,
    advance: (seconds) => clock.advance(seconds * 1_000),
    now: () => clock.wallTime(),
    async close() {
      const closing = relay.close();
      await clock.advance(0);
      await closing;
      if (broken.length > 0) throw new Error(broken.join("; "));
    },
  };
}

/** The ConfigMap of infra/state. */
const STATE: StoredObject = {
  metadata: {
    namespace: "kube-system",
    name: "serverless-ccm",
    uid: "uid-of-state",
    resourceVersion: "",
    creationTimestamp: "2025-01-01T00:00:00Z",
  },
};

const INTERNAL_ERROR = {
  status: 500,
  headers: { "content-type": "application/json" },
  body: JSON.stringify({
    kind: "Status",
    apiVersion: "v1",
    status: "Failure",
    code: 500,
    message: "random error",
  }),
};

function failSome(transport: Transport, isFailing: WorldOptions["isFailing"] = () => false): Transport {
  return {
    ...transport,
    send: async (request) => (isFailing(request) ? INTERNAL_ERROR : transport.send(request)),
    stream: async (request) => {
      if (!isFailing(request)) return transport.stream(request);
      const { body, ...head } = INTERNAL_ERROR;
      return { ...head, body: Readable.from([Buffer.from(body)]), close: () => {} };
    },
  };
}

function resourceOf(name: string) {
  const resource = findResource(name);
  if (resource === undefined) throw new Error(`the embedded API server has no ${name}`);
  return resource;
}
