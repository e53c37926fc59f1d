import { describe, expect, test } from "vitest";
import { parseCloudConfig } from "#cli/cloud-config.ts";
import { describeEntry } from "#clouds/keepalived/describe.ts";
import { KeepalivedCloudConfig, keepalived } from "#clouds/keepalived/kind.ts";
import type { Observed } from "#clouds/keepalived/model.ts";
import { loadCloud } from "#clouds/kinds.ts";
import { describeAddresses } from "#clouds/kubevip/describe.ts";
import { KubeVipCloudConfig, kubevip } from "#clouds/kubevip/kind.ts";
import { Cluster, settingsOf } from "#config/cluster.ts";
import { aCall, aNode } from "#test/clouds/builders.ts";
import { type CloudWorld, cloudConformance } from "#test/clouds/conformance.ts";
import { service } from "#test/core/service/builders.ts";

const KEEPALIVED = { provider: "keepalived", configMap: "vips", serviceCIDR: "10.0.0.0/24" } as const;

describe("the configuration of keepalived", () => {
  test("has defaults, and comes from the environment, too", () => {
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
    ["a ConfigMap of another spelling", { configMap: "My_Map" }],
    ["no network", { serviceCIDR: undefined }],
    ["an address for a network", { serviceCIDR: "10.0.0.1" }],
    ["a network of IPv6", { serviceCIDR: "fd00::/64" }],
    ["a method that nobody knows", { defaultForwardMethod: "TUN" }],
    ["a namespace that is a path", { namespace: "../kube-system" }],
    ["a key that nobody knows", { pool: "10.0.0.0/24" }],
  ])("refuses %s", (_, difference) => {
    expect(KeepalivedCloudConfig.safeParse({ ...KEEPALIVED, ...difference }).success).toBe(false);
  });
});

describe("the configuration of kube-vip", () => {
  test("has defaults, and comes from the environment, too", () => {
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
    ["a flag that is none", { enableLoadBalancerClass: "sometimes" }],
    ["an empty class", { loadBalancerClass: "" }],
    ["a class that is none", { loadBalancerClass: "a b" }],
    ["a ConfigMap that is a path", { configMap: "a/b" }],
    ["a key that nobody knows", { pool: "10.0.0.0/24" }],
  ])("refuses %s", (_, difference) => {
    expect(KubeVipCloudConfig.safeParse({ provider: "kubevip", ...difference }).success).toBe(false);
  });

  test("says which Services are its", () => {
    const classOf = (cloud: object) =>
      settingsOf(Cluster.parse({ name: "a", server: "https://a", cloud: { provider: "kubevip", ...cloud } }))
        .loadBalancerClass;
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
] as const)("%s without a cluster has nodes, and nothing to hold", async (provider, config) => {
  const cloud = await loadCloud(config);
  expect(cloud.provider).toBe(provider);
  const loadBalancers = cloud.capabilities?.["loadBalancers"];
  const holdings = await loadBalancers?.observe([{ holdings: true }], aCall());
  expect(holdings).toMatchObject({
    answers: [{ kind: "observed", state: { holdings: [] } }],
    usage: { calls: {} },
  });
  const question = { service: service(), wanted: true, nodes: [] };
  expect(await loadBalancers?.observe([question], aCall())).toMatchObject({
    answers: [{ kind: "error", code: "Invalid" }],
  });
  const left = await loadCloud({ ...config, nodes: "none" });
  expect((await left.instances([aNode()], aCall())).answers).toMatchObject([
    { kind: "error", code: "Unavailable" },
  ]);
  await Promise.all([cloud.close(), left.close()]);
});

describe("what explain says", () => {
  const entry = { uid: "a", ip: "10.0.0.1", serviceNamespace: "default", serviceName: "web" };
  test.each<[Observed, string, readonly string[]]>([
    [{ kind: "missing", message: "no ConfigMap" }, "none", ["no ConfigMap"]],
    [{ kind: "ledger", own: null, isShown: false, holder: null, isFull: false }, "none", []],
    [
      { kind: "ledger", own: null, isShown: false, holder: "blue/web", isFull: false },
      "none",
      ["the address that is asked for is that of Service blue/web"],
    ],
    [
      { kind: "ledger", own: { ...entry, forwardMethod: "DR" }, isShown: true, holder: null, isFull: false },
      "service",
      ["address 10.0.0.1, DR"],
    ],
    [
      { kind: "ledger", own: entry, isShown: false, holder: null, isFull: false },
      "service",
      ["address 10.0.0.1", "keepalived is not told of it: the data of the ConfigMap says something else"],
    ],
  ])("of keepalived: %j", (state, belongsTo, lines) => {
    expect(describeEntry(state)).toEqual({ belongsTo, lines });
  });

  test.each<[string, Parameters<typeof service>[0], object | null, string, readonly string[]]>([
    [
      "no ConfigMap",
      {},
      null,
      "none",
      ["the ConfigMap with the pools is not there", "Services with an address: 0"],
    ],
    [
      "no pool",
      {},
      {},
      "none",
      ["no pool for namespace default, and none for all", "Services with an address: 0"],
    ],
    [
      "rubbish",
      {},
      { "cidr-global": "a/b" },
      "none",
      ['the pool cannot be read: cidr-global: "a/b" is no network', "Services with an address: 0"],
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
      "one that goes",
      {
        metadata: { annotations: { "kube-vip.io/loadbalancerIPs": "10.0.0.1" } },
        spec: { type: "ClusterIP" },
      },
      null,
      "service",
      ["addresses: 10.0.0.1, named by whoever runs the Service"],
    ],
  ])("of kube-vip: %s", (_, difference, data, belongsTo, lines) => {
    expect(describeAddresses(service(difference), { data, holders: [], chosen: null })).toEqual({
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
  cloudConformance(provider, () => aWorld(config), {
    cannotPlay: [
      { row: "hiding", because: "every node is there" },
      { row: "ambiguity", because: "a node is its own machine" },
      { row: "regions", because: "nobody says where a machine stands" },
      { row: "zones", because: "nobody says where a machine stands" },
      { row: "termination", because: "no node is ever said to be gone" },
      { row: "takeover", because: "no node is ever said to be gone" },
      { row: "ill-formed", because: "a provider ID is whatever the kubelet gave" },
      { row: "schemes", because: "a provider ID is whatever the kubelet gave" },
      { row: "absence", because: "no node is ever said to be gone" },
      { row: "belonging", because: "a node belongs to the cluster that it joined" },
      { row: "stopping", because: "nobody tells of machines that stand still" },
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
