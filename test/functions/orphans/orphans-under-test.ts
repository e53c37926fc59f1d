import type { Capability, Cloud } from "#clouds/cloud.ts";
import { Cluster } from "#config/cluster.ts";
import type { Controller, RelatedObjects } from "#core/controller.ts";
import type { ObjectReport } from "#core/report.ts";
import type { Stop } from "#core/stop.ts";
import { createControllerFunction } from "#functions/parts/controller-function.ts";
import type { LogLine } from "#functions/parts/log-report.ts";
import { orphanController, serviceController } from "#functions/parts/service-controller.ts";
import { askForJson } from "#test/ask.ts";
import { createLife, ignoreKilled, type Life } from "#test/functions/life.ts";
import type { ClusterUnderTest } from "#test/kube/apply/cluster-under-test.ts";

/** A Service as the API server has it. */
export interface Stored {
  readonly metadata: {
    readonly namespace: string;
    readonly name: string;
    readonly uid: string;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly resourceVersion: string;
  };
  readonly status: {
    readonly loadBalancer: { readonly ingress?: readonly { readonly hostname?: string }[] };
  };
}

/** How one audit goes. */
export interface Audit {
  /** So many requests and calls of the cloud are answered before the process is killed; all without it. */
  readonly steps?: number;
  /** Before each of them, by its number. */
  readonly onStep?: (step: number) => Promise<unknown> | undefined;
  /** Services that the sender did not see. */
  readonly unseen?: readonly string[];
  /** Services that the sender saw when they were of another type. */
  readonly plain?: readonly string[];
  readonly readStop?: (cluster: string) => Promise<Stop | undefined>;
}

/** What came of one. */
export interface Audited {
  /** Undefined where the process was killed. */
  readonly report: ObjectReport | undefined;
  readonly lines: readonly LogLine[];
  readonly steps: number;
}

/**
 * Services of one API server and load balancers of one cloud, and the function as its own identity, in a time
 * of the test's.
 */
export interface OrphansUnderTest {
  /** Actions that were sent to the cloud, as `action target`. */
  readonly actions: string[];
  /** Keys of the cluster's entry, from here on. */
  configure(entry: object): void;
  later(minutes: number): void;
  /** Made, and served. */
  create(name: string, differs?: { readonly metadata?: object; readonly spec?: object }): Promise<Stored>;
  read(name: string): Promise<Stored>;
  /** Deletes it without cleanup: the finalizer is removed by force. */
  lose(name: string): Promise<void>;
  /** The function is invoked for one Service until nothing is left to be done. */
  converge(name: string, reason?: "watch" | "refresh"): Promise<void>;
  /** Serves the Service from one node, removes the node, and invokes the function once for the Service. */
  losesItsNode(name: string): Promise<void>;
  audit(how?: Audit): Promise<Audited>;
  reset(): Promise<void>;
}

/** What a cloud of these tests is. */
export interface CloudUnderTest {
  /** Keys of `cloud:`. */
  readonly config: object;
  /** As a new process has it. */
  make(cluster: Cluster): Cloud;
}

const SERVICES = "/api/v1/namespaces/default/services";
const NOON_MS = Date.parse("2026-03-01T12:00:00Z");

/** Sets them up on a running API server. */
export async function startOrphans(
  cluster: ClusterUnderTest,
  cloudUnderTest: () => CloudUnderTest,
): Promise<OrphansUnderTest> {
  const admin = await cluster.transport("admin");
  const api = await cluster.transport("service");
  const actions: string[] = [];
  let differs: object = {};
  let nowMs = NOON_MS;
  const ask = (method: "GET" | "POST" | "DELETE" | "PATCH", path: string, body?: unknown): Promise<unknown> =>
    askForJson(admin, {
      method,
      path,
      ...(body === undefined ? {} : { body }),
      ...(method === "PATCH" ? { contentType: "application/json-patch+json" } : {}),
    });

  async function relatedTo(
    controller: Controller,
    { unseen = [], plain = [] }: Pick<Audit, "unseen" | "plain">,
  ): Promise<RelatedObjects> {
    const lists = controller.related.map(async ({ resource, project }) => {
      const { metadata, items } = (await ask("GET", `/api/v1/${resource.name}`)) as List;
      const seen = items.filter((item) => !unseen.includes(item.metadata.name));
      const before = (item: List["items"][number]): object =>
        plain.includes(item.metadata.name) ? { ...item, spec: { type: "ClusterIP" } } : item;
      const projected = seen.flatMap((item) => project(before(item)) ?? []);
      return [resource.name, { resourceVersion: metadata.resourceVersion, items: projected }] as const;
    });
    return Object.fromEntries(await Promise.all(lists));
  }

  async function invoke(controller: Controller, object: unknown, reason: string, how: Audit = {}) {
    const life = createLife(how.steps, how.onStep);
    const { config, make } = cloudUnderTest();
    const entry = Cluster.parse({
      name: "tenant-a",
      server: "https://127.0.0.1",
      cloud: config,
      controllers: [serviceController.name],
      ...differs,
    });
    const cloud = make(entry);
    const lines: LogLine[] = [];
    // As it is deployed: both in one function.
    const carried = [serviceController, orphanController] as unknown as readonly Controller[];
    const run = createControllerFunction(carried, {
      clusters: async () => entry,
      cloud: async () => livingCloud(cloud, life, actions),
      api: async () => life.transport(api),
      now: () => new Date(nowMs),
      ...(how.readStop === undefined ? {} : { readStop: how.readStop }),
      log: (line) => lines.push(line),
    });
    const event = {
      version: 1,
      id: "event-1",
      cluster: entry.name,
      clusterHash: entry.hash,
      controller: controller.name,
      reason,
      objects: [object],
      related: await relatedTo(controller, how),
      budget: { share: 1 },
    };
    const context = { awsRequestId: "1", getRemainingTimeInMillis: () => 60_000 };
    const report = await run(JSON.parse(JSON.stringify(event)), context).catch(ignoreKilled);
    await life.over();
    await cloud.close();
    return { report: report?.objects[0], lines, steps: life.taken() };
  }

  const under: OrphansUnderTest = {
    actions,
    configure: (entry) => {
      differs = entry;
    },
    later: (minutes) => {
      nowMs += minutes * 60_000;
    },
    async create(name, { metadata = {}, spec = {} } = {}) {
      await ask("POST", SERVICES, {
        apiVersion: "v1",
        kind: "Service",
        metadata: { name, ...metadata },
        spec: { type: "LoadBalancer", ports: [{ port: 80 }], ...spec },
      });
      await under.converge(name);
      return under.read(name);
    },
    read: async (name) => (await ask("GET", `${SERVICES}/${name}`)) as Stored,
    async lose(name) {
      await ask("PATCH", `${SERVICES}/${name}`, [{ op: "add", path: "/metadata/finalizers", value: [] }]);
      await ask("DELETE", `${SERVICES}/${name}`);
    },
    async converge(name, reason = "watch") {
      for (let turn = 0; turn < 20; turn += 1) {
        const service = await under.read(name);
        const { report } = await invoke(serviceController as unknown as Controller, service, reason);
        if (report?.outcome !== "retry") return;
      }
      throw new Error(`${name} does not settle`);
    },
    async losesItsNode(name) {
      await cluster.join({ name: "only-node", providerID: "memory:///a/only-node" });
      await under.converge(name);
      await cluster.remove("only-node");
      await invoke(serviceController as unknown as Controller, await under.read(name), "watch");
    },
    async audit(how) {
      const namespace = await ask("GET", "/api/v1/namespaces/kube-system");
      return invoke(orphanController as unknown as Controller, namespace, "refresh", how);
    },
    async reset() {
      differs = {};
      nowMs = NOON_MS;
      const { items } = (await ask("GET", SERVICES)) as List;
      for (const { metadata } of items) if (metadata.name !== "kubernetes") await under.lose(metadata.name);
      actions.length = 0;
    },
  };
  return under;
}

interface List {
  readonly metadata: { readonly resourceVersion: string };
  readonly items: readonly { readonly metadata: { readonly name: string } }[];
}

/**
 * The cloud as a process has it that may be killed: each call is a step before it, and one after it that it
 * changes something by.
 */
function livingCloud(cloud: Cloud, life: Life, actions: string[]): Cloud {
  const inner = cloud.capabilities?.["loadBalancers"];
  if (inner === undefined) throw new Error(`${cloud.provider} has no load balancers`);
  const loadBalancers: Capability = {
    async observe(questions, call) {
      await life.step();
      return inner.observe(questions, call);
    },
    async act(action, call) {
      await life.step();
      const result = await inner.act(action, call);
      actions.push(`${action.action} ${action.target}`);
      life.landed();
      return result;
    },
  };
  return { ...cloud, capabilities: { loadBalancers } };
}
