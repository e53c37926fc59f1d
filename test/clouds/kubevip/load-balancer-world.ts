import { createKubeVipCloud } from "#clouds/kubevip/cloud.ts";
import { KubeVipCloudConfig } from "#clouds/kubevip/config.ts";
import { ADDRESSES_ANNOTATION } from "#clouds/kubevip/load-balancers/holders.ts";
import { kubeVipModel } from "#clouds/kubevip/load-balancers/model.ts";
import type { ControlPlane } from "#emulators/harness/control-plane.ts";
import { createClusterObjects } from "#functions/parts/cluster-objects.ts";
import { connect } from "#kube/client/connect.ts";
import type { ApiRequest } from "#kube/client/transport.ts";
import { getConnectOptions } from "#test/access.ts";
import { askForJson } from "#test/ask.ts";
import { createGatedTransport } from "#test/clouds/gated-transport.ts";
import type { Gate, LoadBalancerWorld } from "#test/clouds/load-balancer-world.ts";
import { formatOutline } from "#test/clouds/outline.ts";

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

/**
 * Creates a cluster with kube-vip and its pools. A Service of another namespace has one address, and the gate
 * passes the cloud's requests.
 */
export async function createKubeVipWorld(plane: ControlPlane): Promise<LoadBalancerWorld> {
  const admin = connect(await getConnectOptions(plane, "admin"));
  const functions = connect(await getConnectOptions(plane, "service"));
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
        objects: createClusterObjects(async () => createGatedTransport(functions, () => gate)),
      }),
    nodes: ["a", "b", "c", "d"].map((name) => ({ name, providerID: `kubevip://${name}` })),
    refused: [
      { title: "an invalid address", code: "InvalidField", spec: { loadBalancerIP: "web" } },
      {
        title: "a foreign address",
        code: "AddressInUse",
        spec: { loadBalancerIP: FOREIGN_ADDRESS },
      },
      {
        title: "an unreadable annotation",
        code: "InvalidAnnotation",
        annotations: { [ADDRESSES_ANNOTATION]: "10.210.0.7 10.210.0.8" },
      },
      {
        title: "an address outside of the pool, if that is rejected",
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
    // kube-vip writes the status itself, and it does not run here.
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
      return formatOutline([...things, ...twice.map((address) => ({ kind: "of two", address }))], {});
    },
    // Everything is on Services, and the API server's points restore them.
    point: async () => ({ back: async () => undefined }),
    async close() {
      await Promise.all([admin.close(), functions.close()]);
    },
  };
}
