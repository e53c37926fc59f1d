import { fileURLToPath } from "node:url";
import { expect, vi } from "vitest";
import type { Capability, Cloud } from "#clouds/cloud.ts";
import { createMemoryCloud, type MemoryInstances } from "#clouds/memory/cloud.ts";
import type { MemoryLoadBalancer } from "#clouds/memory/load-balancers/model.ts";
import { Cluster } from "#config/cluster.ts";
import { SERVICE_EVENT_SOURCE } from "#core/contracts.ts";
import type { Controller, RelatedObjects } from "#core/controller.ts";
import type { EventReason } from "#core/event.ts";
import type { Report } from "#core/report.ts";
import { HoldingsQuestion } from "#core/service/holdings.ts";
import { serviceWatch } from "#core/service/watch.ts";
import type { Stop } from "#core/stop.ts";
import { createControllerFunction } from "#functions/parts/controller-function.ts";
import { serviceController } from "#functions/parts/service-controller.ts";
import { JSON_PATCH } from "#test/emulators/control-plane/client.ts";
import { createLife, ignoreKilled } from "#test/functions/life.ts";
import type { ClusterUnderTest } from "#test/kube/apply/cluster-under-test.ts";
import { WAIT } from "#test/wait-until-true.ts";

/** An object as the API server has it. */
export interface Stored {
  readonly metadata: {
    readonly namespace: string;
    readonly name: string;
    readonly uid: string;
    readonly resourceVersion: string;
    readonly creationTimestamp: string;
    readonly deletionTimestamp?: string;
    readonly finalizers?: readonly string[];
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly spec: {
    readonly type: string;
    readonly ports: readonly { readonly port: number; readonly nodePort?: number }[];
  };
  readonly status: {
    readonly loadBalancer: { readonly ingress?: readonly { readonly hostname?: string }[] };
  };
}

/** How one invocation goes. */
export interface Invocation {
  readonly reason?: EventReason;
  /** So many requests and calls of the cloud are answered before the process is killed; all without it. */
  readonly steps?: number;
  /** Before each of them, by its number. */
  readonly onStep?: (step: number) => Promise<unknown> | undefined;
  readonly related?: RelatedObjects;
  /** What the event says that the Service is, in place of what it is. */
  readonly said?: (service: Stored) => unknown;
  readonly readStop?: (cluster: string) => Promise<Stop | undefined>;
}

/** Services of one API server, the function as its own identity, and a memory cloud. */
export interface ServicesUnderTest {
  readonly world: MemoryInstances & { readonly loadBalancers: Map<string, MemoryLoadBalancer> };
  /** Calls of the cloud since the last `reset`. */
  readonly calls: string[];
  /** Another entry of the cluster, for one test. */
  configure(entry: object): void;
  create(name: string, differs?: { readonly metadata?: object; readonly spec?: object }): Promise<Stored>;
  read(service: Stored): Promise<Stored | undefined>;
  patch(service: Stored, operations: readonly unknown[], subresource?: string): Promise<void>;
  /** As a user does; finalizers may keep it. */
  remove(service: Stored): Promise<void>;
  /** Invokes the function as a new process with the Service as it is now; nothing where it is gone. */
  invoke(service: Stored, how?: Invocation): Promise<Invoked>;
  /** Moves the clock forward. */
  pass(seconds: number): void;
  /** Invoked until the report asks for nothing more. */
  converge(service: Stored): Promise<void>;
  related(): Promise<RelatedObjects>;
  /** Reasons of the Events on the Service, each once, sorted. */
  events(service: Stored): Promise<readonly string[]>;
  reset(): Promise<void>;
}

/** What came of an invocation. */
export interface Invoked {
  readonly report: Report | undefined;
  readonly steps: number;
}

export const NAMESPACE = "/api/v1/namespaces/default";

/** Manifests of the service function's rights, and of what holds it to them. */
export const MANIFESTS: readonly string[] = ["rbac/service-lb-controller", "admission/service.yaml"].map(
  (path) => fileURLToPath(new URL(`../../../infra/${path}`, import.meta.url)),
);

/** Sets them up on a running API server. */
export async function startServices(cluster: ClusterUnderTest): Promise<ServicesUnderTest> {
  const admin = await cluster.transport("admin");
  const api = await cluster.transport("service");
  const world = { instances: new Map(), loadBalancers: new Map<string, MemoryLoadBalancer>() };
  const calls: string[] = [];
  let entry = entryOf({});
  let waitedMs = 0;

  const ask = async (method: "GET" | "POST" | "DELETE" | "PATCH", path: string, body?: unknown) => {
    const contentType = method === "PATCH" ? { contentType: JSON_PATCH } : {};
    const request = { method, path, ...contentType, ...(body === undefined ? {} : { body }) };
    const { status, body: text } = await admin.send(request);
    return { status, object: JSON.parse(text) as Stored & { readonly items: readonly Stored[] } };
  };
  const done = async (...asked: Parameters<typeof ask>): Promise<Stored> => {
    const { status, object } = await ask(...asked);
    expect([asked, status < 300 ? "done" : JSON.stringify(object)]).toEqual([asked, "done"]);
    return object;
  };
  const pathOf = ({ metadata: { name } }: Stored): string => `${NAMESPACE}/services/${name}`;

  const under: ServicesUnderTest = {
    world,
    calls,
    configure: (differs) => {
      entry = entryOf(differs);
    },
    create: (name, { metadata = {}, spec = {} } = {}) =>
      done("POST", `${NAMESPACE}/services`, {
        apiVersion: "v1",
        kind: "Service",
        metadata: { name, ...metadata },
        spec: { type: "LoadBalancer", ports: [{ port: 80 }], ...spec },
      }),
    async read(service) {
      const { status, object } = await ask("GET", pathOf(service));
      return status === 404 ? undefined : object;
    },
    async patch(service, operations, subresource = "") {
      await done("PATCH", `${pathOf(service)}${subresource}`, operations);
    },
    async remove(service) {
      await done("DELETE", pathOf(service));
    },
    async invoke(service, how = {}) {
      const { reason = "watch", steps, onStep } = how;
      const stored = await under.read(service);
      if (stored === undefined) return { report: undefined, steps: 0 };
      const life = createLife(steps, onStep);
      const cloud = countedCloud(createMemoryCloud(world), calls, life.step, life.landed);
      const run = createControllerFunction(serviceController as unknown as Controller, {
        clusters: async () => entry,
        cloud: async () => cloud,
        api: async () => life.transport(api),
        now: () => new Date(Date.now() + waitedMs),
        ...(how.readStop === undefined ? {} : { readStop: how.readStop }),
      });
      const report = await run(
        {
          version: 1,
          id: "event-1",
          cluster: entry.name,
          clusterHash: entry.hash,
          controller: serviceController.name,
          reason,
          objects: [how.said?.(stored) ?? stored],
          related: how.related ?? (await under.related()),
        },
        { awsRequestId: "1", getRemainingTimeInMillis: () => 30_000 },
      ).catch(ignoreKilled);
      await life.over();
      return { report, steps: life.taken() };
    },
    pass(seconds) {
      waitedMs += seconds * 1_000;
    },
    async converge(service) {
      await vi.waitFor(
        async () => {
          const { report } = await under.invoke(service);
          const [object] = report?.objects ?? [];
          // It is due again then, and not before.
          if (object?.outcome === "retry") waitedMs += (object.afterSeconds ?? 0) * 1_000;
          expect(object?.outcome === "retry" ? object.because.message : undefined).toBeUndefined();
        },
        { ...WAIT, interval: 10 },
      );
    },
    async related() {
      const lists = await Promise.all(
        serviceWatch.related.map(async ({ resource, project }) => {
          const { object } = await ask("GET", `/api/v1/${resource.name}`);
          const items = object.items.flatMap((item) => project(item) ?? []);
          const { resourceVersion } = object.metadata;
          return [resource.name, { resourceVersion, items }] as const;
        }),
      );
      return Object.fromEntries(lists);
    },
    async events({ metadata: { uid } }) {
      const { object } = await ask("GET", `${NAMESPACE}/events?fieldSelector=involvedObject.uid%3D${uid}`);
      const events = object.items as unknown as { reason: string; source: { component: string } }[];
      // The API server's own controllers record some, too, such as ClusterIPNotAllocated.
      const ours = events.filter(({ source }) => source.component === SERVICE_EVENT_SOURCE);
      return [...new Set(ours.map(({ reason }) => reason))].sort();
    },
    async reset() {
      for (const { metadata } of (await ask("GET", `${NAMESPACE}/services`)).object.items) {
        if (metadata.name === "kubernetes") continue;
        const path = `${NAMESPACE}/services/${metadata.name}`;
        await ask("PATCH", path, [{ op: "add", path: "/metadata/finalizers", value: [] }]);
        await ask("DELETE", path);
      }
      for (const { metadata } of (await ask("GET", "/api/v1/nodes")).object.items) {
        await ask("DELETE", `/api/v1/nodes/${metadata.name}`);
      }
      world.loadBalancers.clear();
      calls.length = 0;
      entry = entryOf({});
    },
  };
  return under;
}

function entryOf(differs: object): Cluster {
  return Cluster.parse({
    name: "tenant-a",
    server: "https://127.0.0.1",
    cloud: { provider: "memory", instancesFile: "unused" },
    controllers: [serviceController.name],
    ...differs,
  });
}

function countedCloud(cloud: Cloud, calls: string[], step: () => Promise<void>, answered: () => void): Cloud {
  const inner = cloud.capabilities?.["loadBalancers"];
  if (inner === undefined) throw new Error("the memory cloud has no load balancers");
  const loadBalancers: Capability = {
    async observe(questions, call) {
      await step();
      calls.push(questions.some((each) => HoldingsQuestion.safeParse(each).success) ? "count" : "observe");
      return inner.observe(questions, call);
    },
    async act(action, call) {
      await step();
      calls.push(action.action);
      const result = await inner.act(action, call);
      answered();
      return result;
    },
  };
  return { ...cloud, capabilities: { loadBalancers } };
}
