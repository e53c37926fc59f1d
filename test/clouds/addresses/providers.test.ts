import { describe, expect, test } from "vitest";
import { KeepalivedCloudConfig } from "#clouds/keepalived/config.ts";
import { describeEntry, type Observed } from "#clouds/keepalived/load-balancers/model.ts";
import { keepalived } from "#clouds/keepalived/provider.ts";
import { KubeVipCloudConfig } from "#clouds/kubevip/config.ts";
import { describeAddresses } from "#clouds/kubevip/load-balancers/model.ts";
import { kubevip } from "#clouds/kubevip/provider.ts";
import { loadCloud } from "#clouds/providers.ts";
import { parseCloudConfig } from "#config/cloud-config.ts";
import { Cluster, selectSettings } from "#config/cluster.ts";
import { buildCall, buildNode } from "#test/clouds/builders.ts";
import { type CloudWorld, testCloudConformance } from "#test/clouds/conformance.ts";
import { buildService } from "#test/core/service/builders.ts";

const KEEPALIVED = { provider: "keepalived", configMap: "vips", serviceCIDR: "10.0.0.0/24" } as const;

describe("the configuration of keepalived", () => {
  test("has defaults, and is also read from the environment", () => {
    expect(KeepalivedCloudConfig.parse(KEEPALIVED)).toEqual({
      ...KEEPALIVED,
      ...{ namespace: "kube-system", defaultForwardMethod: "", outsidePool: "allow", nodes: "no-cloud" },
    });
    const environment = {
      KEEPALIVED_NAMESPACE: "vips",
      KEEPALIVED_CONFIG_MAP: "mine",
      KEEPALIVED_SERVICE_CIDR: "10.1.0.0/24",
      KEEPALIVED_DEFAULT_FORWARD_METHOD: "DR",
    };
    expect(parseCloudConfig("keepalived", "", environment)).toEqual({
      kind: "cloud",
      cloud: {
        ...{ provider: "keepalived", namespace: "vips", configMap: "mine" },
        ...{ serviceCIDR: "10.1.0.0/24", defaultForwardMethod: "DR" },
      },
    });
  });

  test.each<[string, object]>([
    ["no ConfigMap", { configMap: undefined }],
    ["an invalid name of the ConfigMap", { configMap: "My_Map" }],
    ["no network", { serviceCIDR: undefined }],
    ["an address in place of a network", { serviceCIDR: "10.0.0.1" }],
    ["an IPv6 network", { serviceCIDR: "fd00::/64" }],
    ["an unknown forwarding method", { defaultForwardMethod: "TUN" }],
    ["a namespace that is a path", { namespace: "../kube-system" }],
    ["an unknown key", { pool: "10.0.0.0/24" }],
  ])("rejects %s", (_, difference) => {
    expect(KeepalivedCloudConfig.safeParse({ ...KEEPALIVED, ...difference }).success).toBe(false);
  });
});

describe("the configuration of kube-vip", () => {
  test("has defaults, and is also read from the environment", () => {
    expect(KubeVipCloudConfig.parse({ provider: "kubevip" })).toEqual({
      ...{
        provider: "kubevip",
        namespace: "kube-system",
        configMap: "kubevip",
        enableLoadBalancerClass: false,
      },
      ...{ loadBalancerClass: "kube-vip.io/kube-vip-class", outsidePool: "allow", nodes: "no-cloud" },
    });
    const environment = {
      KUBEVIP_NAMESPACE: "vips",
      KUBEVIP_CONFIG_MAP: "mine",
      KUBEVIP_ENABLE_LOADBALANCERCLASS: "true",
      KUBEVIP_CUSTOM_LOADBALANCERCLASS_NAME: "example.com/vip",
    };
    const parsed = parseCloudConfig("kubevip", "", environment);
    if (parsed.kind !== "cloud") throw new Error(JSON.stringify(parsed.faults));
    expect(KubeVipCloudConfig.parse(parsed.cloud)).toMatchObject({
      ...{
        namespace: "vips",
        configMap: "mine",
        enableLoadBalancerClass: true,
        loadBalancerClass: "example.com/vip",
      },
    });
  });

  test.each<[string, object]>([
    ["an invalid boolean", { enableLoadBalancerClass: "sometimes" }],
    ["an empty class", { loadBalancerClass: "" }],
    ["an invalid class", { loadBalancerClass: "a b" }],
    ["a ConfigMap that is a path", { configMap: "a/b" }],
    ["an unknown key", { pool: "10.0.0.0/24" }],
  ])("rejects %s", (_, difference) => {
    expect(KubeVipCloudConfig.safeParse({ provider: "kubevip", ...difference }).success).toBe(false);
  });

  test("selects the Services by class", () => {
    const classOf = (cloud: object) =>
      selectSettings(
        Cluster.parse({ name: "a", server: "https://a", cloud: { provider: "kubevip", ...cloud } }),
      ).loadBalancerClass;
    expect(classOf({})).toBeUndefined();
    expect(classOf({ enableLoadBalancerClass: true })).toBe("kube-vip.io/kube-vip-class");
    expect(classOf({ enableLoadBalancerClass: true, loadBalancerClass: "example.com/vip" })).toBe(
      "example.com/vip",
    );
  });
});

test.each([
  [keepalived.provider, KeepalivedCloudConfig.parse(KEEPALIVED)],
  [kubevip.provider, KubeVipCloudConfig.parse({ provider: "kubevip" })],
] as const)("%s without a cluster has nodes, and no addresses to keep", async (provider, config) => {
  const cloud = await loadCloud(config);
  expect(cloud.provider).toBe(provider);
  const loadBalancers = cloud.capabilities?.["loadBalancers"];
  const holdings = await loadBalancers?.observe([{ holdings: true }], buildCall());
  expect(holdings).toMatchObject({
    answers: [{ kind: "observed", state: { holdings: [] } }],
    usage: { calls: {} },
  });
  const question = { service: buildService(), wanted: true, nodes: [] };
  expect(await loadBalancers?.observe([question], buildCall())).toMatchObject({
    answers: [{ kind: "error", code: "Invalid" }],
  });
  const left = await loadCloud({ ...config, nodes: "none" });
  expect((await left.instances([buildNode()], buildCall())).answers).toMatchObject([
    { kind: "error", code: "Unavailable" },
  ]);
  await Promise.all([cloud.close(), left.close()]);
});

describe("the facts for explain", () => {
  const entry = { uid: "a", ip: "10.0.0.1", serviceNamespace: "default", serviceName: "web" };
  test.each<[Observed, string, readonly string[]]>([
    [{ kind: "missing", message: "no ConfigMap" }, "none", ["no ConfigMap"]],
    [{ kind: "ledger", own: null, isShown: false, holder: null, isFull: false }, "none", []],
    [
      { kind: "ledger", own: null, isShown: false, holder: "blue/web", isFull: false },
      "none",
      ["the requested address belongs to Service blue/web"],
    ],
    [
      { kind: "ledger", own: { ...entry, forwardMethod: "DR" }, isShown: true, holder: null, isFull: false },
      "service",
      ["address 10.0.0.1, DR"],
    ],
    [
      { kind: "ledger", own: entry, isShown: false, holder: null, isFull: false },
      "service",
      ["address 10.0.0.1", "keepalived does not get it: the data of the ConfigMap differs"],
    ],
  ])("of keepalived: %j", (state, belongsTo, lines) => {
    expect(describeEntry(state)).toEqual({ belongsTo, lines });
  });

  test.each<[string, Parameters<typeof buildService>[0], object | null, string, readonly string[]]>([
    [
      "no ConfigMap",
      {},
      null,
      "none",
      ["the ConfigMap with the pools is missing", "Services with an address: 0"],
    ],
    [
      "no pool",
      {},
      {},
      "none",
      ["no pool for namespace default, and no global pool", "Services with an address: 0"],
    ],
    [
      "an invalid pool",
      {},
      { "cidr-global": "a/b" },
      "none",
      ['the pool cannot be read: cidr-global: "a/b" is not a network', "Services with an address: 0"],
    ],
    [
      "an address",
      {
        metadata: {
          annotations: {
            "kube-vip.io/loadbalancerIPs": "10.0.0.1",
            "serverless-ccm.io/kube-vip-chosen": "10.0.0.1",
            "kube-vip.io/serviceInterface": "eth0",
          },
        },
      },
      { "cidr-global": "10.0.0.0/24" },
      "service",
      [
        "addresses: 10.0.0.1, chosen here",
        "announced on eth0",
        "pool: cidr-global",
        "Services with an address: 0",
      ],
    ],
    [
      "a Service that no longer needs an address",
      {
        metadata: { annotations: { "kube-vip.io/loadbalancerIPs": "10.0.0.1" } },
        spec: { type: "ClusterIP" },
      },
      null,
      "service",
      ["addresses: 10.0.0.1, named by the Service's owner"],
    ],
  ])("of kube-vip: %s", (_, difference, data, belongsTo, lines) => {
    expect(describeAddresses(buildService(difference), { data, holders: [], chosen: null })).toEqual({
      belongsTo,
      lines,
    });
  });
});

const CONFORMING = [
  ["keepalived", KeepalivedCloudConfig.parse(KEEPALIVED)],
  ["kubevip", KubeVipCloudConfig.parse({ provider: "kubevip" })],
] as const;

for (const [provider, config] of CONFORMING) {
  testCloudConformance(provider, () => aWorld(config), {
    cannotPlay: [
      { row: "hiding", because: "every node counts as existing" },
      { row: "ambiguity", because: "a node is its own machine" },
      { row: "regions", because: "the location of a machine is unknown" },
      { row: "zones", because: "the location of a machine is unknown" },
      { row: "termination", because: "no node ever counts as gone" },
      { row: "takeover", because: "no node ever counts as gone" },
      { row: "ill-formed", because: "any provider ID of the kubelet is valid" },
      { row: "schemes", because: "any provider ID of the kubelet is valid" },
      { row: "absence", because: "no node ever counts as gone" },
      { row: "belonging", because: "a node belongs to the cluster that it joined" },
      { row: "stopping", because: "stopped machines are not reported" },
      { row: "failure", because: "there is no API" },
    ],
  });
}

async function aWorld(config: (typeof CONFORMING)[number][1]): Promise<CloudWorld> {
  const cloud = await loadCloud(config);
  let count = 0;
  return {
    cloud,
    async addInstance() {
      count += 1;
      const name = `node-${count}`;
      const addresses = [
        { type: "InternalIP", address: `10.0.0.${count}` },
        { type: "Hostname", address: name },
      ];
      return { id: name, nodeName: name, providerID: `${config.provider}://${name}`, traits: { addresses } };
    },
    requests: () => 0,
    close: () => cloud.close(),
  };
}
