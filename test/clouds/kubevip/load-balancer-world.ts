import { createKubeVipCloud } from "#clouds/kubevip/cloud.ts";
import { ADDRESSES_ANNOTATION } from "#clouds/kubevip/keys.ts";
import { KubeVipCloudConfig } from "#clouds/kubevip/kind.ts";
import { kubeVipModel } from "#clouds/kubevip/model.ts";
import type { ControlPlane } from "#emulators/harness/control-plane.ts";
import { clusterObjects } from "#functions/parts/cluster-objects.ts";
import { connect } from "#kube/client/connect.ts";
import type { ApiRequest } from "#kube/client/transport.ts";
import { access } from "#test/access.ts";
import { askForJson } from "#test/ask.ts";
import { gated } from "#test/clouds/gated-transport.ts";
import type { Gate, LoadBalancerWorld } from "#test/clouds/load-balancer-world.ts";
import { outlineOf } from "#test/clouds/outline.ts";

interface Stored {
  readonly metadata: {
    readonly namespace: string;
    readonly name: string;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly spec: { readonly type: string };
}

const FOREIGN_ADDRESS = "10.210.0.1";
const FOREIGN = {
  metadata: {
    name: "web",
    labels: { implementation: "kube-vip" },
    annotations: { [ADDRESSES_ANNOTATION]: FOREIGN_ADDRESS },
  },
  spec: { type: "LoadBalancer", ports: [{ port: 80 }], allocateLoadBalancerNodePorts: false },
};

/** A cluster with kube-vip and its pools, one address of which a Service of another namespace has; what passes its gate are requests of the cloud. */
export async function kubeVipWorld(plane: ControlPlane): Promise<LoadBalancerWorld> {
  const admin = connect(await access(plane, "admin"));
  const functions = connect(await access(plane, "service"));
  let gate: Gate | undefined;
  const ask = (method: ApiRequest["method"], path: string, body?: unknown) =>
    askForJson(admin, { method, path, ...(body === undefined ? {} : { body }) });
  const pools = { metadata: { name: "kubevip" }, data: { "cidr-global": "10.210.0.0/24" } };
  await ask("POST", "/api/v1/namespaces/kube-system/configmaps", pools);
  await ask("POST", "/api/v1/namespaces/kube-system/services", FOREIGN);
  const services = async () =>
    ((await ask("GET", "/api/v1/services")) as { readonly items: readonly Stored[] }).items;
  return {
    cloud: { provider: "kubevip" },
    model: kubeVipModel,
    manifests: ["rbac/kubevip", "admission/kubevip"],
    isInCluster: true,
    connect: ({ cloud }) =>
      createKubeVipCloud(KubeVipCloudConfig.parse(cloud), {
        objects: clusterObjects(async () => gated(functions, () => gate)),
      }),
    nodes: ["a", "b", "c", "d"].map((name) => ({ name, providerID: `kubevip://${name}` })),
    refused: [
      { title: "an address that is none", code: "InvalidField", spec: { loadBalancerIP: "web" } },
      {
        title: "an address of somebody else",
        code: "AddressInUse",
        spec: { loadBalancerIP: FOREIGN_ADDRESS },
      },
      {
        title: "an annotation that nobody can read",
        code: "InvalidAnnotation",
        annotations: { [ADDRESSES_ANNOTATION]: "10.210.0.7 10.210.0.8" },
      },
      {
        title: "an address outside of the pool, where that is refused",
        code: "AddressOutsidePool",
        spec: { loadBalancerIP: "192.0.2.1" },
        cloud: { outsidePool: "refuse" },
      },
      {
        title: "a family that the pool has not",
        code: "PoolLacksFamily",
        spec: { ipFamilies: ["IPv6"] },
      },
    ],
    requestsFor: (count) => 1 + Math.ceil((count + 1) / 100),
    setGate: (next) => {
      gate = next;
    },
    // Status is kube-vip's own, which is not here.
    advance: async () => undefined,
    async outline() {
      const all = await services();
      const addresses = all.flatMap(({ metadata }) => metadata.annotations?.[ADDRESSES_ANNOTATION] ?? []);
      const twice = addresses.filter((address, index) => addresses.indexOf(address) !== index);
      const foreign = all.filter(({ metadata }) => metadata.namespace === "kube-system");
      const things = foreign.map(({ metadata: { name, annotations }, spec }) => ({
        name,
        annotations,
        spec,
      }));
      return outlineOf([...things, ...twice.map((address) => ({ kind: "of two", address }))], {});
    },
    // All of it is on Services, and these are set back with the API server.
    point: async () => ({ back: async () => undefined }),
    async close() {
      await Promise.all([admin.close(), functions.close()]);
    },
  };
}
