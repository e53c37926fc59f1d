import { describe, expect, test, vi } from "vitest";
import { loadCloud } from "#clouds/providers.ts";
import { loadRancherCloud } from "#clouds/rancher/cloud.ts";
import { RancherCloudConfig } from "#clouds/rancher/config.ts";
import { rancher } from "#clouds/rancher/provider.ts";
import { parseCloudConfig } from "#config/cloud-config.ts";
import { TOKEN } from "#test/clouds/rancher/fake-management.ts";

const K3S = { provider: "rancher", distribution: "k3s" };
const SERVER = { url: "https://rancher.example.com", cluster: "blue" };
const MACHINES = { ...K3S, existence: "rancher", rancher: SERVER };
const CATTLE = {
  provider: "rancher",
  mode: "cattle",
  cattle: { url: "https://rancher.example.com/v1/projects/1a5" },
};
const parse = (config: Record<string, unknown>) => RancherCloudConfig.safeParse(config);

describe("the configuration", () => {
  test.each<[string, Record<string, unknown>]>([
    ["K3s", K3S],
    ["RKE2 without a Rancher server", { ...K3S, distribution: "rke2", existence: "none" }],
    ["Machines", MACHINES],
    [
      "Machines with all settings",
      { ...MACHINES, rancher: { ...SERVER, namespace: "ns", tokenFile: "/t", caFile: "/ca" } },
    ],
    ["a token in a secret", { ...MACHINES, rancher: { ...SERVER, credentials: { file: "/t" } } }],
    ["an environment", CATTLE],
    [
      "an environment with its keys",
      { ...CATTLE, cattle: { ...CATTLE.cattle, accessKey: "A", secretKeyFile: "/s" } },
    ],
  ])("accepts %s", (_, config) => {
    expect(parse(config).error).toBeUndefined();
  });

  test.each<[string, Record<string, unknown>, string]>([
    ["no distribution", { provider: "rancher" }, "distribution"],
    ["another distribution", { ...K3S, distribution: "k0s" }, "distribution"],
    ["Machines without a server", { ...K3S, existence: "rancher" }, "is required with existence: rancher"],
    [
      "a server without a use for it",
      { ...K3S, rancher: SERVER },
      "has no effect without existence: rancher",
    ],
    ["a server without its cluster", { ...MACHINES, rancher: { url: SERVER.url } }, "cluster"],
    [
      "a cluster name that is a label selector",
      { ...MACHINES, rancher: { ...SERVER, cluster: "blue,env=prod" } },
      "the name of an object",
    ],
    [
      "a namespace that is a path",
      { ...MACHINES, rancher: { ...SERVER, namespace: "../kube-system" } },
      "the name of an object",
    ],
    [
      "http to another host",
      { ...MACHINES, rancher: { ...SERVER, url: "http://rancher.example.com" } },
      "https is required",
    ],
    [
      "a token in the configuration",
      { ...MACHINES, rancher: { ...SERVER, token: TOKEN } },
      "Unrecognized key",
    ],
    [
      "two token sources",
      { ...MACHINES, rancher: { ...SERVER, tokenFile: "/t", credentials: { file: "/t" } } },
      "in addition to tokenFile",
    ],
    [
      "an environment without its URL",
      { provider: "rancher", mode: "cattle" },
      "is required with mode: cattle",
    ],
    [
      "an environment with a distribution",
      { ...CATTLE, distribution: "k3s" },
      "has no effect with mode: cattle",
    ],
    [
      "an environment without the mode",
      { ...K3S, cattle: CATTLE.cattle },
      "has no effect without mode: cattle",
    ],
    [
      "a password in the URL",
      { ...CATTLE, cattle: { url: "https://a:b@rancher.example.com" } },
      "without user name",
    ],
  ])("rejects %s", (_, config, message) => {
    expect(parse(config).error?.message).toContain(message);
  });
});

describe("RKE2 with flags", () => {
  const written = (provider: string, text: string, environment: Record<string, string> = {}) => {
    const parsed = parseCloudConfig(provider, text, environment);
    return parsed.kind === "cloud"
      ? parsed.cloud
      : parsed.faults.map(({ name, message }) => `${name}: ${message}`);
  };

  test.each(["k3s", "rke2"])("%s is a distribution that can be configured by its name", (distribution) => {
    expect(written(distribution, "")).toEqual({ provider: "rancher", distribution });
  });

  test("the file has priority", () => {
    expect(written("k3s", "distribution: rke2")).toEqual({ provider: "rancher", distribution: "rke2" });
  });

  test("a URL comes from the environment if the file has the rest", () => {
    const text = "existence: rancher\nrancher: { cluster: blue }";
    const environment = {
      RANCHER_URL: SERVER.url,
      CATTLE_URL: "https://elsewhere.example.com",
      RANCHER_TOKEN: TOKEN,
    };
    expect(written("rke2", text, environment)).toEqual({
      ...{ provider: "rancher", distribution: "rke2", existence: "rancher" },
      rancher: SERVER,
    });
    expect(written("rke2", "", environment)).toEqual({ provider: "rancher", distribution: "rke2" });
  });

  test("a missing value is reported with the variable that can supply it", () => {
    const faults = written("rke2", "existence: rancher\nrancher: { cluster: blue }");
    expect(String(faults)).toContain("rancher.url");
    expect(String(faults)).toContain("(or set RANCHER_URL)");
  });

  test("an unknown name is rejected with all known names", () => {
    expect(String(written("k0s", ""))).toMatch(/"k0s" is not a cloud; known are .*rancher, k3s, rke2/);
  });
});

test.each<[string, Record<string, unknown>, string]>([
  ["no token", MACHINES, "rancher.tokenFile is required if RANCHER_TOKEN is not set"],
  [
    "a missing token file",
    { ...MACHINES, rancher: { ...SERVER, tokenFile: "/nowhere/t" } },
    "/nowhere/t cannot be read",
  ],
  ["no access key", CATTLE, "cattle.accessKey is required if CATTLE_ACCESS_KEY is not set"],
  [
    "no secret key",
    { ...CATTLE, cattle: { ...CATTLE.cattle, accessKey: "A" } },
    "cattle.secretKeyFile is required",
  ],
  [
    "a missing secret key file",
    { ...CATTLE, cattle: { ...CATTLE.cattle, accessKey: "A", secretKeyFile: "/nowhere/s" } },
    "/nowhere/s cannot be read",
  ],
])("%s is an error as soon as the cloud is loaded", async (_, config, message) => {
  await expect(loadRancherCloud(RancherCloudConfig.parse(config), {}, {})).rejects.toThrow(message);
});

test.each<[string, Record<string, unknown>, Record<string, string>]>([
  ["with nodes only", K3S, {}],
  ["with Machines", MACHINES, { RANCHER_TOKEN: TOKEN }],
  ["with an environment", CATTLE, { CATTLE_ACCESS_KEY: "access", CATTLE_SECRET_KEY: TOKEN }],
])(
  "the cloud %s is loaded by its provider, which reveals only the names of secrets",
  async (_, written, environment) => {
    for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, value);
    const config = RancherCloudConfig.parse(written);
    const cloud = await loadCloud(config, { clusterName: "blue" });
    expect(cloud.provider).toBe("rancher");
    expect([rancher.describeCredentialSource(config), rancher.getQuotaKey(config)].join()).not.toContain(
      TOKEN,
    );
    await cloud.close();
    vi.unstubAllEnvs();
  },
);

test("quotas are kept by server and token", () => {
  const keys = [
    K3S,
    MACHINES,
    { ...MACHINES, rancher: { ...SERVER, tokenFile: "/t" } },
    { ...MACHINES, rancher: { ...SERVER, url: "https://other.example.com" } },
    CATTLE,
  ].map((config) => rancher.getQuotaKey(RancherCloudConfig.parse(config)));
  expect(new Set(keys).size).toBe(keys.length);
});

test("snapshots of nodes keep the fields that the answers need", () => {
  const keys = rancher.listNodeKeys?.(RancherCloudConfig.parse(K3S)) ?? [];
  expect(keys).toEqual(
    expect.arrayContaining([
      "k3s.io/internal-ip",
      "k3s.io/hostname",
      "rke.cattle.io/machine",
      "kubernetes.io/hostname",
    ]),
  );
  expect(rancher.listNodeKeys?.(RancherCloudConfig.parse(CATTLE))).toEqual([]);
});
