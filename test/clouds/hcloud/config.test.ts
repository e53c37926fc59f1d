import { describe, expect, test, vi } from "vitest";
import { loadHcloudCloud } from "#clouds/hcloud/cloud.ts";
import { HcloudCloudConfig } from "#clouds/hcloud/config.ts";
import { hcloud } from "#clouds/hcloud/provider.ts";
import { loadCloud } from "#clouds/providers.ts";
import { parseCloudConfig } from "#config/cloud-config.ts";
import { NETWORK, SELECTOR, TOKEN } from "#test/clouds/hcloud/fake-server.ts";
import { buildConfig } from "#test/clouds/hcloud/world.ts";

const LEAST = { provider: "hcloud", network: NETWORK };

describe("the configuration", () => {
  test.each<[string, Record<string, unknown>]>([
    ["a network by its ID", {}],
    ["a network by its id as a number", { network: 4711 }],
    ["a network by its name", { network: "tenant-blue" }],
    ["labels in place of a network", { network: undefined, labelSelector: "cluster in (blue),!spare" }],
    ["a token file", { tokenFile: "/var/run/hcloud-token" }],
    ["a token by reference", { credentials: { file: "/var/run/hcloud-token" } }],
    ["a proxy with a path", { endpoint: "https://proxy.example.com/hcloud/v1" }],
    ["http to the loopback address", { endpoint: "http://127.0.0.1:8080/v1" }],
    ["both address families", { addressFamily: "dualstack" }],
  ])("accepts %s", (_, traits) => {
    expect(HcloudCloudConfig.safeParse({ ...LEAST, ...traits }).error).toBeUndefined();
  });

  test.each<[string, Record<string, unknown>, string]>([
    ["neither network nor labels", { network: undefined }, "network or labelSelector is required"],
    ["an invalid network", { network: [] }, "the id or the name of a network"],
    ["invalid labels", { labelSelector: "cluster==" + "=" }, "a label selector such as"],
    ["labels that only exclude servers", { labelSelector: "cluster!=green" }, "requires a label"],
    ["http to another host", { endpoint: "http://api.example.com/v1" }, "https is required"],
    ["a password in the URL", { endpoint: "https://u:p@api.example.com" }, "without user name"],
    ["an invalid URL", { endpoint: "api.hetzner.cloud" }, "a URL"],
    ["an invalid address family", { addressFamily: "ipv5" }, "addressFamily"],
    ["an invalid boolean", { zoneLabel: "perhaps" }, "true or false"],
    ["a token in the configuration", { token: TOKEN }, "Unrecognized key"],
    ["two token sources", { tokenFile: "/a", credentials: { file: "/b" } }, "in addition to tokenFile"],
  ])("rejects %s", (_, traits, message) => {
    const { error } = HcloudCloudConfig.safeParse({ ...LEAST, ...traits });
    expect(error?.message).toContain(message);
  });

  test("is read from the stock controller's variables, except the token", () => {
    const environment = {
      HCLOUD_TOKEN: TOKEN,
      HCLOUD_ENDPOINT: "https://proxy.example.com/v1",
      HCLOUD_NETWORK: "tenant-blue",
      HCLOUD_INSTANCES_ADDRESS_FAMILY: "dualstack",
      HCLOUD_INSTANCES_ZONE_LABEL_ENABLED: "false",
    };
    const parsed = parseCloudConfig("hcloud", `labelSelector: ${SELECTOR}\n`, environment);
    if (parsed.kind !== "cloud") throw new Error(JSON.stringify(parsed.faults));
    const config = HcloudCloudConfig.parse(parsed.cloud);
    expect(config).toEqual({
      provider: "hcloud",
      network: "tenant-blue",
      labelSelector: SELECTOR,
      endpoint: "https://proxy.example.com/v1",
      addressFamily: "dualstack",
      zoneLabel: false,
    });
    const told = [
      JSON.stringify(config),
      hcloud.getQuotaKey(config),
      hcloud.describeCredentialSource(config),
    ];
    expect(told.filter((each) => each.includes(TOKEN))).toEqual([]);
  });

  test.each<[Record<string, unknown>, string]>([
    [{}, "the API token in HCLOUD_TOKEN"],
    [{ tokenFile: "/run/token" }, "the API token in the file /run/token"],
    [{ credentials: { ssmParameter: "/blue" } }, "the API token in the SSM parameter /blue"],
  ])("%j says where the token is", (traits, expected) => {
    expect(hcloud.describeCredentialSource(buildConfig(traits))).toBe(expected);
  });
});

test.each<[string, Record<string, unknown>, Record<string, unknown>, boolean]>([
  [
    "of two clusters with one token file",
    { tokenFile: "/a" },
    { tokenFile: "/a", labelSelector: "x=y" },
    true,
  ],
  ["of two clusters with the environment's token", {}, { network: "815" }, true],
  ["of two token files", { tokenFile: "/a" }, { tokenFile: "/b" }, false],
  ["of two references", { credentials: { file: "/a" } }, { credentials: { file: "/b" } }, false],
  ["of a token file and the environment's token", { tokenFile: "/a" }, {}, false],
  ["of two APIs", { endpoint: "https://a.example.com" }, { endpoint: "https://b.example.com" }, false],
])("whether the quotas %s share a key", (_, one, other, same) => {
  expect(hcloud.getQuotaKey(buildConfig(one)) === hcloud.getQuotaKey(buildConfig(other))).toBe(same);
});

test.each<[string, Record<string, unknown>, Record<string, string>, string]>([
  ["no token", {}, {}, "tokenFile is required if HCLOUD_TOKEN is not set"],
  ["an empty variable", {}, { HCLOUD_TOKEN: "" }, "tokenFile is required"],
  ["a variable with a line break", {}, { HCLOUD_TOKEN: "a\nb" }, "HCLOUD_TOKEN is not one API token"],
  [
    "a missing file",
    { tokenFile: "/nowhere/token" },
    { HCLOUD_TOKEN: TOKEN },
    "/nowhere/token cannot be read (ENOENT)",
  ],
  [
    "a reference to a missing file",
    { credentials: { file: "/nowhere/token" } },
    { HCLOUD_TOKEN: TOKEN },
    "/nowhere/token cannot be read (ENOENT)",
  ],
])("%s is an error as soon as the cloud is loaded", async (_, traits, environment, message) => {
  await expect(loadHcloudCloud(buildConfig(traits), {}, environment)).rejects.toThrow(message);
});

test("the provider loads the cloud with the token of the environment", async () => {
  vi.stubEnv("HCLOUD_TOKEN", TOKEN);
  const cloud = await loadCloud(buildConfig(), { clusterName: "blue" });
  expect(cloud.provider).toBe("hcloud");
  await cloud.close();
  vi.unstubAllEnvs();
});
