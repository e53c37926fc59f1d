import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test, vi } from "vitest";
import { loadOpenStackCloud } from "#clouds/openstack/cloud.ts";
import { OpenStackCloudConfig } from "#clouds/openstack/config.ts";
import { openstack } from "#clouds/openstack/provider.ts";
import { loadCloud } from "#clouds/providers.ts";
import { parseCloudConfig } from "#config/cloud-config.ts";
import { CREDENTIAL, NETWORK, PROJECT, SECRET, TAG } from "#test/clouds/openstack/fake-server.ts";
import { buildConfig, SIGNED_IN } from "#test/clouds/openstack/world.ts";

const LEAST = {
  provider: "openstack",
  "auth-url": "https://keystone.example.com:5000/v3",
  region: "RegionOne",
  "application-credential-id": CREDENTIAL,
  "server-tag": TAG,
};
const NO_CREDENTIAL = { "application-credential-id": undefined };
const USER = { ...NO_CREDENTIAL, username: "ccm", "user-domain-name": "Default" };

describe("the configuration", () => {
  test.each<[string, Record<string, unknown>]>([
    ["an application credential by its ID", {}],
    ["an application credential by its name", { ...USER, "application-credential-name": "blue" }],
    ["a user and a tenant by ID", { ...NO_CREDENTIAL, "user-id": "u", "tenant-id": PROJECT }],
    ["a user and a tenant by name", { ...USER, "tenant-name": "blue", "tenant-domain-name": "Default" }],
    ["one domain for both", { ...NO_CREDENTIAL, username: "c", "domain-id": "default", "tenant-name": "b" }],
    ["a network in place of a tag", { "server-tag": undefined, "network-id": NETWORK }],
    ["metadata in place of a tag", { "server-tag": undefined, "server-metadata": { cluster: "blue" } }],
    ["Keystone on this machine", { "auth-url": "http://127.0.0.1:5000/v3/" }],
    ["an order of addresses", { "address-sort-order": "10.0.0.0/8, 2001:db8::/32,192.0.2.1" }],
    ["several names of networks", { "public-network-name": ["a", "b"], "internal-network-name": "c" }],
    ["a file with the secret", { "secret-file": "/run/secret" }],
  ])("accepts %s", (_, traits) => {
    expect(OpenStackCloudConfig.safeParse({ ...LEAST, ...traits }).error).toBeUndefined();
  });

  test.each<[string, Record<string, unknown>, string]>([
    [
      "no condition that selects servers",
      { "server-tag": undefined },
      "network-id, server-tag or server-metadata is required",
    ],
    ["metadata without a key and value", { "server-metadata": {} }, "at least one pair"],
    ["a network by its name", { "network-id": "blue" }, "a network's UUID"],
    ["a tag with a comma", { "server-tag": "a,b" }, "a tag of a server"],
    ["no user", NO_CREDENTIAL, "application-credential-id, username or user-id is required"],
    [
      "a user name without a domain",
      { ...USER, "user-domain-name": undefined, "tenant-id": PROJECT },
      "user names belong to a domain",
    ],
    ["a user without a tenant", USER, "tenant-id or tenant-name is required"],
    ["a tenant name without a domain", { ...USER, "tenant-name": "blue" }, "tenant names belong to a domain"],
    ["http to another host", { "auth-url": "http://keystone.example.com" }, "https is required"],
    ["an invalid URL", { "auth-url": "keystone" }, "a URL"],
    ["a region with a space", { region: "Region One" }, "a region such as"],
    ["an unknown kind of endpoint", { "os-endpoint-type": "publicURL" }, "os-endpoint-type"],
    ["an invalid order", { "address-sort-order": "10.0.0.0/8,office" }, "networks such as"],
    ["a secret in the configuration", { "application-credential-secret": SECRET }, "Unrecognized key"],
    ["a password in the configuration", { password: SECRET }, "Unrecognized key"],
    [
      "two secret sources",
      { "secret-file": "/a", credentials: { file: "/b" } },
      "in addition to secret-file",
    ],
    ["a rate of 0", { "requests-per-second": 0 }, "requests-per-second"],
  ])("rejects %s", (_, traits, message) => {
    const { error } = OpenStackCloudConfig.safeParse({ ...LEAST, ...traits });
    expect(error?.message).toContain(message);
    expect(error?.message).not.toContain(SECRET);
  });

  test("comes from the variables of an openrc file, except the secret", () => {
    const environment = {
      OS_AUTH_URL: "https://keystone.example.com:5000/v3",
      OS_REGION_NAME: "RegionOne",
      OS_USERNAME: "ccm",
      OS_USER_DOMAIN_NAME: "Default",
      OS_PROJECT_NAME: "blue",
      OS_PROJECT_DOMAIN_ID: "default",
      OS_INTERFACE: "internal",
      OS_CACERT: "/etc/ca.pem",
      OS_CCM_REGIONAL: "true",
      OS_PASSWORD: SECRET,
    };
    const parsed = parseCloudConfig("openstack", `network-id: ${NETWORK}\n`, environment);
    if (parsed.kind !== "cloud") throw new Error(JSON.stringify(parsed.faults));
    const config = OpenStackCloudConfig.parse(parsed.cloud);
    expect(config).toEqual({
      provider: "openstack",
      "auth-url": "https://keystone.example.com:5000/v3",
      region: "RegionOne",
      username: "ccm",
      "user-domain-name": "Default",
      "tenant-name": "blue",
      "tenant-domain-id": "default",
      "os-endpoint-type": "internal",
      "ca-file": "/etc/ca.pem",
      regional: true,
      "network-id": NETWORK,
      "ipv6-support-disabled": false,
      "requests-per-second": 10,
    });
    const told = [
      JSON.stringify(config),
      openstack.getQuotaKey(config),
      openstack.describeCredentialSource(config),
    ];
    expect(told.filter((each) => each.includes(SECRET))).toEqual([]);
  });

  test.each<[Record<string, unknown>, string]>([
    [{}, "the secret of the application credential in OS_APPLICATION_CREDENTIAL_SECRET"],
    [{ "secret-file": "/run/s" }, "the secret of the application credential in the file /run/s"],
    [{ ...USER, "tenant-id": "t" }, "the password in OS_PASSWORD"],
    [
      { ...USER, "tenant-id": "t", credentials: { ssmParameter: "/a" } },
      "the password in the SSM parameter /a",
    ],
  ])("%j says where the secret is", (traits, expected) => {
    expect(openstack.describeCredentialSource(buildConfig(traits))).toBe(expected);
  });
});

test.each<[string, Record<string, unknown>, Record<string, unknown>, boolean]>([
  ["of two clusters in one project", {}, { "server-tag": "other" }, true],
  ["of two application credentials", {}, { "application-credential-id": "other" }, false],
  ["of two regions", {}, { region: "RegionTwo" }, false],
  ["of two clouds", {}, { "auth-url": "https://other.example.com" }, false],
])("whether the quotas %s share a key", (_, one, other, same) => {
  expect(openstack.getQuotaKey(buildConfig(one)) === openstack.getQuotaKey(buildConfig(other))).toBe(same);
});

test.each<[string, Record<string, unknown>, Record<string, string>, string]>([
  ["no secret", {}, {}, "secret-file is required if OS_APPLICATION_CREDENTIAL_SECRET is not set"],
  [
    "a password in place of a secret",
    {},
    { OS_PASSWORD: SECRET },
    "OS_APPLICATION_CREDENTIAL_SECRET is not set",
  ],
  ["no password", { ...USER, "tenant-id": "t" }, {}, "secret-file is required if OS_PASSWORD is not set"],
  ["a missing file", { "secret-file": "/nowhere/secret" }, {}, "/nowhere/secret cannot be read (ENOENT)"],
  ["missing certificates", { "ca-file": "/nowhere/ca.pem" }, SIGNED_IN, "/nowhere/ca.pem cannot be read"],
])("%s is an error as soon as the cloud is loaded", async (_, traits, environment, message) => {
  await expect(loadOpenStackCloud(buildConfig(traits), {}, environment)).rejects.toThrow(message);
});

test("a certificate file without certificates is an error as soon as the cloud is loaded", async () => {
  const folder = await mkdtemp(join(tmpdir(), "openstack-ca-"));
  const file = join(folder, "ca.pem");
  await writeFile(file, "nothing");
  await expect(loadOpenStackCloud(buildConfig({ "ca-file": file }), {}, SIGNED_IN)).rejects.toThrow(
    "holds no certificate",
  );
  await rm(folder, { recursive: true });
});

test("the provider loads the cloud with the secret of the environment", async () => {
  vi.stubEnv("OS_APPLICATION_CREDENTIAL_SECRET", SECRET);
  const cloud = await loadCloud(buildConfig(), { clusterName: "blue" });
  expect(cloud.provider).toBe("openstack");
  await cloud.close();
  vi.unstubAllEnvs();
});
