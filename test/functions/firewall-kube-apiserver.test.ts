import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { Cluster } from "#config/cluster.ts";
import type { Controller } from "#core/controller.ts";
import { firewallController } from "#core/digitalocean/firewall/controller.ts";
import { tagsController } from "#core/digitalocean/load-balancer-tags/controller.ts";
import type { ObjectReport } from "#core/report.ts";
import { buildFirewall } from "#emulators/digitalocean/firewalls.ts";
import { REGION, TAG, VPC } from "#emulators/digitalocean/names.ts";
import { startKubeApiserver } from "#emulators/harness/kube-apiserver.ts";
import { createControllerFunction } from "#functions/parts/controller-function.ts";
import { orphanController, serviceController } from "#functions/parts/service-controller.ts";
import type { Transport } from "#kube/client/transport.ts";
import { askForJson } from "#test/ask.ts";
import { createNodeWorld, type DigitalOceanWorld } from "#test/clouds/digitalocean/world.ts";
import { MANIFESTS } from "#test/functions/services/services-under-test.ts";
import { type ClusterUnderTest, startCluster } from "#test/kube/apply/cluster-under-test.ts";
import { describeWithPart } from "#test/setup/parts.ts";

const SERVICES = "/api/v1/namespaces/default/services";
const CLOUD = {
  ...{ provider: "digitalocean", region: REGION, vpc: VPC, dropletTag: TAG, clusterID: "7b1c" },
  publicAccessFirewall: { name: "k8s-public", tags: [TAG] },
};

interface List {
  readonly metadata: { readonly resourceVersion: string };
  readonly items: readonly {
    readonly metadata: { readonly name: string };
    readonly [field: string]: unknown;
  }[];
}

describeWithPart(
  "control-plane",
  "what is beside load balancers of DigitalOcean, in the function",
  (binaries) => {
    let cluster: ClusterUnderTest;
    let admin: Transport;
    let api: Transport;
    let world: DigitalOceanWorld;

    beforeAll(async () => {
      cluster = await startCluster((folder) =>
        startKubeApiserver({ folder, binaries, manifests: MANIFESTS }),
      );
      admin = await cluster.transport("admin");
      api = await cluster.transport("service");
    });
    beforeEach(async () => {
      await world?.close();
      world = await createNodeWorld();
      for (const { metadata } of (await list(SERVICES)).items)
        if (metadata.name !== "kubernetes") await ask("DELETE", `${SERVICES}/${metadata.name}`);
    });
    afterAll(async () => {
      await world?.close();
      await cluster?.close();
    });

    const ask = (method: "GET" | "POST" | "DELETE", path: string, body?: unknown): Promise<unknown> =>
      askForJson(admin, { method, path, ...(body === undefined ? {} : { body }) });
    const list = async (path: string) => (await ask("GET", path)) as List;

    /** A round of one of them as the identity of the function, on Services as a sender has seen them. */
    async function look(controller: unknown, unseen = ""): Promise<ObjectReport | undefined> {
      const { resourceVersion, items } = await list("/api/v1/services").then(({ metadata, items }) => ({
        ...metadata,
        items,
      }));
      const { name, related } = controller as Controller;
      const seen = items.filter(({ metadata }) => metadata.name !== unseen);
      const projected = seen.flatMap((item) => related[0]?.project(item) ?? []);
      const server = "https://127.0.0.1";
      const entry = Cluster.parse({
        name: "blue",
        server,
        cloud: CLOUD,
        controllers: [serviceController.name],
      });
      const cloud = world.cloud({ ...CLOUD });
      const all = [serviceController, orphanController, tagsController, firewallController];
      const run = createControllerFunction(all as unknown as readonly Controller[], {
        clusters: async () => entry,
        cloud: async () => cloud,
        api: async () => api,
        now: () => new Date(),
      });
      const event = {
        ...{ version: 1, id: "event-1", cluster: entry.name, clusterHash: entry.hash, controller: name },
        ...{ reason: "refresh", objects: [await ask("GET", "/api/v1/namespaces/kube-system")] },
        ...{ related: { services: { resourceVersion, items: projected } }, budget: { share: 1 } },
      };
      const context = { awsRequestId: "1", getRemainingTimeInMillis: () => 60_000 };
      return (await run(JSON.parse(JSON.stringify(event)), context)).objects[0];
    }

    const create = (name: string, spec: object) =>
      ask("POST", SERVICES, {
        metadata: { name },
        spec: { ports: [{ port: 80, nodePort: 30080 }], ...spec },
      });
    const opened = () =>
      [...world.fake.firewalls.values()].flatMap(({ inbound_rules: rules }) =>
        rules.map(({ ports }) => ports),
      );

    it("the firewall follows the Services", async () => {
      await create("web", { type: "NodePort" });
      expect(await look(firewallController)).toMatchObject({ outcome: "changed" });
      expect(opened()).toEqual(["30080"]);
      expect(await look(firewallController)).toMatchObject({ outcome: "unchanged" });
      await ask("DELETE", `${SERVICES}/web`);
      await look(firewallController);
      expect(opened()).toEqual([]);
    });

    it("the firewall shuts nothing for a Service that the sender has not seen", async () => {
      await create("web", { type: "NodePort" });
      await look(firewallController);
      await look(firewallController, "web");
      expect(opened()).toEqual(["30080"]);
    });

    it("a foreign firewall stays unchanged, and the cluster gets a Warning", async () => {
      const others = buildFirewall({ name: "k8s-public", tags: ["db"] });
      world.fake.firewalls.set(others.id, others);
      await create("web", { type: "NodePort" });
      expect(await look(firewallController)).toMatchObject({
        outcome: "retry",
        because: { code: "FirewallForeign" },
      });
      expect([...world.fake.firewalls.values()]).toEqual([others]);
      const { items } = await list("/api/v1/namespaces/default/events");
      expect(items).toContainEqual(
        expect.objectContaining({
          ...{ reason: "SyncFirewallFailed", type: "Warning" },
          involvedObject: expect.objectContaining({ kind: "Namespace", name: "kube-system" }),
        }),
      );
    });

    it("a Service with an unreadable annotation gets its own Warning", async () => {
      const annotations = { "service.beta.kubernetes.io/do-loadbalancer-type": "GLOBAL" };
      const spec = { type: "LoadBalancer", ports: [{ port: 80 }] };
      await ask("POST", SERVICES, { metadata: { name: "odd", annotations }, spec });
      await look(firewallController);
      const { items } = await list("/api/v1/namespaces/default/events");
      expect(items).toContainEqual(
        expect.objectContaining({
          reason: "FirewallAnnotationInvalid",
          involvedObject: expect.objectContaining({ kind: "Service", name: "odd" }),
        }),
      );
    });

    it("a load balancer from before gets the cluster's tag", async () => {
      const { metadata } = (await create("web", { type: "LoadBalancer" })) as { metadata: { uid: string } };
      const before = world.fake.addLoadBalancer({
        name: `a${metadata.uid.replaceAll("-", "")}`.slice(0, 32),
      });
      expect(await look(tagsController)).toMatchObject({ outcome: "changed" });
      expect(before.tags).toEqual(["k8s:7b1c"]);
      expect(await look(tagsController)).toMatchObject({ outcome: "unchanged" });
    });
  },
);
