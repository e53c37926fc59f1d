import { afterAll, beforeAll, expect, test } from "vitest";
import { Cluster } from "#config/cluster.ts";
import type { Event } from "#core/event.ts";
import { nodeWatch } from "#core/node/watch.ts";
import { NODES } from "#core/resources/resource.ts";
import type { ApiObject, Watch } from "#core/watch.ts";
import { type EmbeddedControlPlane, startEmbeddedControlPlane } from "#emulators/api-server/start.ts";
import { type Relay, startRelay } from "#relay/relay.ts";
import { type ClusterUnderTest, startCluster } from "#test/kube/apply/cluster-under-test.ts";
import { buildReport } from "#test/relay/report-builders.ts";
import { otherNodeWatch, serviceWatch } from "#test/relay/watch-builders.ts";

let api: ClusterUnderTest;
let plane: EmbeddedControlPlane;
let relay: Relay;
const events: Event[] = [];

/** Creates a controller of ConfigMaps, which the embedded API server has, that reads the names of nodes. */
const configMapWatch: Watch = {
  ...serviceWatch,
  name: "test-config-map-controller",
  resource: { apiVersion: "v1", kind: "ConfigMap", name: "configmaps", namespaced: true },
  parse: (value) => ({ kind: "object", object: value as ApiObject }),
  snapshot: ({ metadata }) => ({ metadata }),
  needsWork: ({ metadata }) => metadata.name === "web",
  related: [
    {
      resource: NODES,
      project: (object) => ({ name: (object as ApiObject).metadata.name }),
      reads: () => "all",
    },
  ],
};

beforeAll(async () => {
  api = await startCluster(async (folder) => {
    plane = await startEmbeddedControlPlane({ folder });
    return plane;
  });
  const watches = [nodeWatch, otherNodeWatch, configMapWatch];
  relay = startRelay({
    clusters: [
      {
        cluster: Cluster.parse({
          name: "tenant-a",
          server: plane.server,
          certificateAuthorityFile: plane.certificateAuthorityFile,
          cloud: { provider: "memory", instancesFile: "instances.json" },
          controllers: watches.map(({ name }) => name),
        }),
        transport: await api.transport("admin"),
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
});
afterAll(async () => {
  await relay?.close();
  await api?.close();
});

async function until(what: string, done: () => boolean): Promise<void> {
  const deadline = performance.now() + 120_000;
  while (!done()) {
    if (performance.now() > deadline) throw new Error(`waited 2 min for ${what}: ${JSON.stringify(events)}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

test("three controllers that read nodes list and watch them once", async () => {
  await until("the lists", () => relay.ready());
  for (const name of ["a", "b"]) await api.join({ name });
  const admin = await api.transport("admin");
  const { status } = await admin.send({
    method: "POST",
    path: "/api/v1/namespaces/default/configmaps",
    body: { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "web", namespace: "default" } },
  });
  expect(status).toBe(201);
  await until("events of all three", () => new Set(events.map(({ controller }) => controller)).size === 3);
  await until("both nodes beside the ConfigMap", () =>
    events.some(({ related }) => related?.["nodes"]?.items.length === 2),
  );
  // The audit log contains a watch when it has ended.
  plane.control.endWatches();
  await relay.close();
  const record = await plane.record();
  const asked = record.filter(
    ({ resource, verb }) => resource === "nodes" && ["list", "watch"].includes(verb),
  );
  expect(asked.map(({ verb }) => verb).sort()).toEqual(["list", "watch"]);
});
