import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createKeepalivedCloud } from "#clouds/keepalived/cloud.ts";
import { KeepalivedCloudConfig } from "#clouds/keepalived/config.ts";
import { createKubeVipCloud } from "#clouds/kubevip/cloud.ts";
import { KubeVipCloudConfig } from "#clouds/kubevip/config.ts";
import { startEmbeddedControlPlane } from "#emulators/api-server/start.ts";
import { createClusterObjects } from "#functions/parts/cluster-objects.ts";
import type { Transport } from "#kube/client/transport.ts";
import { askForJson } from "#test/ask.ts";
import {
  type CloudUnderTest,
  type OrphansUnderTest,
  startOrphans,
} from "#test/functions/orphans/orphans-under-test.ts";
import { type ClusterUnderTest, startCluster } from "#test/kube/apply/cluster-under-test.ts";

// If addresses are stored in the cluster itself, the cloud does not write there what a policy holds back
// either.

const MAPS = "/api/v1/namespaces/kube-system/configmaps";
const KEEPALIVED = {
  provider: "keepalived",
  configMap: "vip-configmap",
  serviceCIDR: "10.0.0.0/24",
} as const;
const KUBE_VIP = { provider: "kubevip" } as const;

let cluster: ClusterUnderTest;
let admin: Transport;
let under: OrphansUnderTest;
let chosen: CloudUnderTest;
let clouds: Readonly<Record<"keepalived" | "kubevip", CloudUnderTest>>;

beforeAll(async () => {
  cluster = await startCluster((folder) => startEmbeddedControlPlane({ folder }));
  admin = await cluster.transport("admin");
  const functions = await cluster.transport("service");
  const objects = createClusterObjects(async () => functions);
  clouds = {
    keepalived: {
      config: KEEPALIVED,
      make: () => createKeepalivedCloud(KeepalivedCloudConfig.parse(KEEPALIVED), { objects }),
    },
    kubevip: {
      config: KUBE_VIP,
      make: () => createKubeVipCloud(KubeVipCloudConfig.parse(KUBE_VIP), { objects }),
    },
  };
  chosen = clouds.keepalived;
  under = await startOrphans(cluster, () => chosen);
});
afterAll(() => cluster?.close());
beforeEach(async () => {
  await under.reset();
  for (const name of ["vip-configmap", "kubevip"])
    await admin.send({ method: "DELETE", path: `${MAPS}/${name}` });
  await create({ metadata: { name: "vip-configmap" } });
  await create({ metadata: { name: "kubevip" }, data: { "cidr-global": "10.0.0.0/24" } });
});

const create = (body: unknown) => askForJson(admin, { method: "POST", path: MAPS, body });

/** All that could be written. */
async function written(name: string): Promise<unknown> {
  const service = await askForJson(admin, {
    method: "GET",
    path: `/api/v1/namespaces/default/services/${name}`,
  });
  const map = await askForJson(admin, { method: "GET", path: `${MAPS}/vip-configmap` });
  const of = (object: unknown) =>
    (object as { readonly metadata: { readonly resourceVersion: string } }).metadata;
  return [of(service), of(map)];
}

const POLICIES = [
  ["a dry run", { policies: { dryRun: true } }],
  ["labels alone", { policies: { labelsOnly: true } }],
] as const;

describe.each(["keepalived", "kubevip"] as const)("addresses of %s", (provider) => {
  beforeEach(() => {
    chosen = clouds[provider];
  });

  test.each(POLICIES)("are not given in %s, and nothing of them is written", async (_, entry) => {
    const before = { metadata: { labels: { "ipam-address": "of-before" } } };
    under.configure(entry);
    await under.create("web", before);
    const first = await written("web");
    expect(JSON.stringify(first)).not.toMatch(/loadbalancerIPs|load-balancer|implementation|10\.0\.0\./);
    await under.converge("web");
    expect(await written("web")).toEqual(first);
    expect(under.actions).toEqual([]);
  });

  test.each(POLICIES)("are neither taken back nor dropped in %s", async (_, entry) => {
    await under.create("web");
    await under.create("lost");
    await under.lose("lost");
    await under.audit();
    await askForJson(admin, {
      method: "PATCH",
      path: "/api/v1/namespaces/default/services/web",
      body: [{ op: "add", path: "/spec/type", value: "ClusterIP" }],
      contentType: "application/json-patch+json",
    });
    const first = await written("web");
    under.actions.length = 0;
    under.configure(entry);
    under.later(2);
    await under.converge("web");
    await under.audit();
    expect(await written("web")).toEqual(first);
    expect(under.actions).toEqual([]);
    under.configure({});
    await under.converge("web");
    expect(JSON.stringify(await written("web"))).not.toMatch(/loadbalancerIPs|default\\":\\"web/);
  });
});
