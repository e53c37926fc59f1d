import { describe, expect, test, vi } from "vitest";
import { loadDigitalOceanCloud } from "#clouds/digitalocean/cloud.ts";
import { DigitalOceanCloudConfig } from "#clouds/digitalocean/config.ts";
import { digitalocean } from "#clouds/digitalocean/provider.ts";
import { loadCloud } from "#clouds/providers.ts";
import { parseCloudConfig } from "#config/cloud-config.ts";
import { REGION, TAG, TOKEN, VPC } from "#emulators/digitalocean/names.ts";
import { buildConfig } from "#test/clouds/digitalocean/world.ts";

const LEAST = { provider: "digitalocean", region: REGION, vpc: VPC };

describe("the configuration", () => {
  test.each<[string, Record<string, unknown>]>([
    ["a VPC", {}],
    ["a tag in place of a VPC", { vpc: undefined, dropletTag: "k8s:0f1e-2d3c_4b" }],
    ["a token file", { tokenFile: "/var/run/do-token" }],
    ["a proxy with a path", { apiURL: "https://proxy.example.com/do/" }],
    ["http to the loopback address", { apiURL: "http://127.0.0.1:8080" }],
    ["http to localhost", { apiURL: "http://localhost:8080" }],
    ["http to the IPv6 loopback address", { apiURL: "http://[::1]:8080" }],
    ["half a request per second", { requestsPerSecond: 0.5 }],
    ["a cluster ID", { clusterID: "7b1c2d3e-blue" }],
    ["another default type of load balancers", { defaultLoadBalancerType: "REGIONAL" }],
    ["allowed certificates", { allow: { certificates: ["web", "shop-*"] } }],
    ["a firewall", { publicAccessFirewall: { name: "k8s-public", tags: [TAG, "other"] } }],
  ])("accepts %s", (_, traits) => {
    expect(DigitalOceanCloudConfig.safeParse({ ...LEAST, ...traits }).error).toBeUndefined();
  });

  test.each<[string, Record<string, unknown>, string]>([
    ["neither VPC nor tag", { vpc: undefined }, "vpc or dropletTag is required"],
    ["no region", { region: undefined }, "region"],
    ["an invalid region", { region: "Frankfurt 1" }, "fra1"],
    ["a VPC by name", { vpc: "my-vpc" }, "UUID"],
    ["a tag with a space", { dropletTag: "my nodes" }, "a tag"],
    ["http to another host", { apiURL: "http://api.example.com" }, "https is required"],
    [
      "http to a host name that begins like the loopback address",
      { apiURL: "http://127.0.0.1.example.com" },
      "https is required",
    ],
    ["a password in the URL", { apiURL: "https://u:p@api.example.com" }, "without user name"],
    ["an invalid URL", { apiURL: "api.example.com" }, "a URL"],
    ["a rate of 0", { requestsPerSecond: 0 }, "requestsPerSecond"],
    ["an invalid rate", { requestsPerSecond: "many" }, "requests per second"],
    ["a token in the configuration", { token: TOKEN }, "Unrecognized key"],
    ["a cluster ID that cannot be part of a tag", { clusterID: "my cluster" }, "clusterID"],
    ["an unknown default type of load balancers", { defaultLoadBalancerType: "GLOBAL" }, "REGIONAL_NETWORK"],
    ["an unknown kind of allowed resources", { allow: { buckets: ["a"] } }, "Unrecognized key"],
    ["a firewall without tags", { publicAccessFirewall: { name: "k8s-public" } }, "publicAccessFirewall"],
    ["a firewall without a name", { publicAccessFirewall: { tags: [TAG] } }, "publicAccessFirewall"],
    [
      "a firewall with an empty list of tags",
      { publicAccessFirewall: { name: "k8s-public", tags: [] } },
      "tags",
    ],
    ["a firewall with six tags", { publicAccessFirewall: { name: "a", tags: "a,b,c,d,e,f" } }, "tags"],
    [
      "a firewall with a tag that has a space",
      { publicAccessFirewall: { name: "a", tags: ["my nodes"] } },
      "a tag",
    ],
    ["a firewall whose name is a path", { publicAccessFirewall: { name: "../a", tags: [TAG] } }, "no dot"],
  ])("rejects %s", (_, traits, message) => {
    const { error } = DigitalOceanCloudConfig.safeParse({ ...LEAST, ...traits });
    expect(error?.message).toContain(message);
  });

  test("is read from the stock controller's variables, except the token", () => {
    const environment = {
      DO_ACCESS_TOKEN: TOKEN,
      DO_OVERRIDE_URL: "https://proxy.example.com",
      REGION,
      DO_CLUSTER_VPC_ID: VPC,
      DO_API_RATE_LIMIT_QPS: "2.5",
      DO_CLUSTER_ID: "c1",
      DEFAULT_LB_TYPE: "REGIONAL",
    };
    const parsed = parseCloudConfig("digitalocean", `dropletTag: ${TAG}\n`, environment);
    if (parsed.kind !== "cloud") throw new Error(JSON.stringify(parsed.faults));
    const config = DigitalOceanCloudConfig.parse(parsed.cloud);
    expect(config).toEqual({
      ...LEAST,
      apiURL: "https://proxy.example.com",
      dropletTag: TAG,
      requestsPerSecond: 2.5,
      clusterID: "c1",
      defaultLoadBalancerType: "REGIONAL",
      allow: { certificates: [], ips: [], loadBalancers: [], subnets: [] },
    });
    const told = [
      JSON.stringify(config),
      digitalocean.getQuotaKey(config),
      digitalocean.describeCredentialSource(config),
    ];
    expect(told.filter((each) => each.includes(TOKEN))).toEqual([]);
  });
});

test("reads the firewall from the stock controller's variables if the file has the key", () => {
  const environment = { PUBLIC_ACCESS_FIREWALL_NAME: "k8s-public", PUBLIC_ACCESS_FIREWALL_TAGS: "a, b" };
  const text = `region: ${REGION}\nvpc: ${VPC}\n`;
  const firewallOf = (document: string) => {
    const parsed = parseCloudConfig("digitalocean", document, environment);
    if (parsed.kind !== "cloud") throw new Error(JSON.stringify(parsed.faults));
    return DigitalOceanCloudConfig.parse(parsed.cloud).publicAccessFirewall;
  };
  expect(firewallOf(`${text}publicAccessFirewall: {}\n`)).toEqual({ name: "k8s-public", tags: ["a", "b"] });
  expect(firewallOf(text)).toBeUndefined();
});

test.each<[string, Record<string, unknown>, Record<string, unknown>, boolean]>([
  [
    "of two clusters with one token file",
    { tokenFile: "/a" },
    { tokenFile: "/a", dropletTag: "other" },
    true,
  ],
  ["of two clusters with the environment's token", {}, { region: "nyc3" }, true],
  ["of two token files", { tokenFile: "/a" }, { tokenFile: "/b" }, false],
  ["of a token file and the environment's token", { tokenFile: "/a" }, {}, false],
  ["of two APIs", { apiURL: "https://a.example.com" }, { apiURL: "https://b.example.com" }, false],
])("whether the quotas %s share a key", (_, one, other, same) => {
  expect(digitalocean.getQuotaKey(buildConfig(one)) === digitalocean.getQuotaKey(buildConfig(other))).toBe(
    same,
  );
});

test.each<[string, Record<string, unknown>, Record<string, string>, string]>([
  ["no token", {}, {}, "tokenFile is required if DO_ACCESS_TOKEN is not set"],
  ["an empty variable", {}, { DO_ACCESS_TOKEN: "" }, "tokenFile is required"],
  ["a variable with a line break", {}, { DO_ACCESS_TOKEN: "a\nb" }, "DO_ACCESS_TOKEN is not one API token"],
  [
    "a missing file",
    { tokenFile: "/nowhere/token" },
    { DO_ACCESS_TOKEN: TOKEN },
    "/nowhere/token cannot be read (ENOENT)",
  ],
])("%s is an error as soon as the cloud is loaded", async (_, traits, environment, message) => {
  await expect(loadDigitalOceanCloud(buildConfig(traits), {}, environment)).rejects.toThrow(message);
});

test("the provider loads the cloud with the token of the environment", async () => {
  vi.stubEnv("DO_ACCESS_TOKEN", TOKEN);
  const cloud = await loadCloud(buildConfig(), { clusterName: "blue" });
  expect(cloud.provider).toBe("digitalocean");
  await cloud.close();
  vi.unstubAllEnvs();
});
