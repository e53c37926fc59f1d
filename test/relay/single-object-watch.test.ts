import { afterEach, expect, test } from "vitest";
import { Cluster } from "#config/cluster.ts";
import type { Event } from "#core/event.ts";
import { CONFIG_MAPS, NODES } from "#core/resources/resource.ts";
import type { ApiObject, Watch } from "#core/watch.ts";
import { type EmbeddedControlPlane, startEmbeddedControlPlane } from "#emulators/api-server/start.ts";
import { type Relay, startRelay } from "#relay/relay.ts";
import { type ClusterUnderTest, startCluster } from "#test/kube/apply/cluster-under-test.ts";
import { buildReport } from "#test/relay/report-builders.ts";
import { serviceWatch } from "#test/relay/watch-builders.ts";

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

const { rechecks: _, ...plain } = serviceWatch;

/** Creates a controller of ConfigMaps, all of them or one. */
function configMapWatch(name: string, only?: Watch["only"]): Watch {
  return {
    ...plain,
    name,
    resource: CONFIG_MAPS,
    ...(only === undefined ? {} : { only }),
    parse: (value) => ({ kind: "object", object: value as ApiObject }),
    snapshot: ({ metadata }) => ({ metadata }),
    needsWork: () => true,
    related: [
      { resource: NODES, project: (object) => (object as ApiObject).metadata.name, reads: () => "all" },
    ],
  };
}

const all = configMapWatch("test-all");
const one = configMapWatch("test-one", { namespace: "kube-system", name: "web" });

async function start(watches: readonly Watch[]) {
  let plane: EmbeddedControlPlane | undefined;
  const api: ClusterUnderTest = await startCluster(async (folder) => {
    plane = await startEmbeddedControlPlane({ folder });
    return plane;
  });
  closing.push(() => api.close());
  if (plane === undefined) throw new Error("no control plane");
  const { control, server, certificateAuthorityFile, record } = plane;
  const events: Event[] = [];
  const transport = await api.transport("admin");
  const relay: Relay = startRelay({
    clusters: [
      {
        cluster: Cluster.parse({
          name: "tenant-a",
          server,
          certificateAuthorityFile,
          cloud: { provider: "memory", instancesFile: "instances.json" },
          controllers: watches.map(({ name }) => name),
        }),
        transport,
      },
    ],
    watches,
    invoker: {
      async invoke(event) {
        events.push(event);
        return {
          kind: "report",
          report: buildReport(event, () => ({ outcome: "retry", afterSeconds: 600 })),
        };
      },
      close: () => Promise.resolve(),
    },
    identity: "test",
    nodeStatusUpdateFrequencySeconds: 100_000,
  });
  closing.push(() => relay.close());
  const create = async (namespace: string, name: string): Promise<void> => {
    const body = { apiVersion: "v1", kind: "ConfigMap", metadata: { name, namespace } };
    const path = `/api/v1/namespaces/${namespace}/configmaps`;
    const { status } = await transport.send({ method: "POST", path, body });
    expect(status).toBe(201);
  };
  const namesOf = ({ name }: Watch): readonly string[] =>
    events
      .filter(({ controller }) => controller === name)
      .flatMap(({ objects }) => objects)
      .map((object) => (object as ApiObject).metadata)
      .map(({ namespace, name: objectName }) => `${namespace}/${objectName}`)
      .sort();
  const endWatches = async (): Promise<void> => {
    control.endWatches();
    await relay.close();
  };
  return { relay, create, namesOf, record, endWatches };
}

async function until(what: string, isDone: () => boolean): Promise<void> {
  const deadline = performance.now() + 120_000;
  while (!isDone()) {
    if (performance.now() > deadline) throw new Error(`waited 2 min for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

test("one object of a resource is followed by its name only, next to an informer of all", async () => {
  const { relay, create, namesOf, record, endWatches } = await start([all, one]);
  await create("kube-system", "before");
  await until("the lists", () => relay.ready());
  await create("default", "web");
  await create("kube-system", "web");
  await create("kube-system", "other");
  await until("all of them", () => namesOf(all).length === 4 && namesOf(one).length === 1);
  expect(namesOf(all)).toEqual(["default/web", "kube-system/before", "kube-system/other", "kube-system/web"]);
  expect(namesOf(one)).toEqual(["kube-system/web"]);
  // The audit log contains a watch when it has ended.
  await endWatches();
  const asked = (await record()).filter(
    ({ resource, verb }) => resource === "configmaps" && ["list", "watch"].includes(verb),
  );
  expect(asked.map(({ verb, name }) => `${verb} ${name ?? "all"}`).sort()).toEqual([
    "list all",
    "list web",
    "watch all",
    "watch web",
  ]);
});
