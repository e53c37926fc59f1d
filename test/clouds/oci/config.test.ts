import { describe, expect, test } from "vitest";
import { buildBaseUrls } from "#clouds/oci/api.ts";
import { loadOciCloud } from "#clouds/oci/cloud.ts";
import { OciCloudConfig } from "#clouds/oci/config.ts";
import { oci } from "#clouds/oci/provider.ts";
import { loadCloud } from "#clouds/providers.ts";
import { parseCloudConfig } from "#config/cloud-config.ts";
import { API_KEY, COMPARTMENT, TENANCY, USER, VCN } from "#test/clouds/oci/fake/credentials.ts";
import { buildConfig, buildWrittenConfig } from "#test/clouds/oci/world.ts";

const URLS = {
  iaas: "https://iaas.example.com",
  identity: "https://identity.example.com",
  loadBalancer: "https://lb.example.com",
  networkLoadBalancer: "https://nlb.example.com",
};

describe("the configuration", () => {
  test.each<[string, Record<string, unknown>]>([
    ["the smallest configuration", {}],
    ["a region's short key", { auth: { region: "phx" } }],
    ["the root compartment", { compartment: TENANCY }],
    ["a key by reference", { auth: { keyFile: undefined }, credentials: { file: "/etc/key.json" } }],
    ["a fingerprint in capitals", { auth: { fingerprint: API_KEY.fingerprint.toUpperCase() } }],
    ["no VCN, without load balancers", { vcn: undefined, loadBalancer: { disabled: true } }],
    ["further compartments", { compartments: ["ocid1.compartment.oc1..c2"] }],
    ["another realm with configured hosts", { auth: { tenancy: "ocid1.tenancy.oc77..t" }, endpoints: URLS }],
    ["http to the loopback address", { endpoints: { iaas: "http://127.0.0.1:8080" } }],
    ["disabled settings", { useInstancePrincipals: false, useWorkloadIdentity: false }],
    [
      "subnets and a mode",
      { loadBalancer: { subnet1: "ocid1.subnet.oc1.phx.a", securityListManagementMode: "None" } },
    ],
    ["tags", { tags: { common: { freeform: { a: "b" }, defined: { ns: { key: "v" } } } } }],
  ])("accepts %s", (_, traits) => {
    expect(OciCloudConfig.safeParse(buildWrittenConfig(traits)).error).toBeUndefined();
  });

  test.each<[string, Record<string, unknown>, string]>([
    ["a misspelled region", { auth: { region: "us-pheonix" } }, "us-phoenix-1"],
    ["an unknown short key", { auth: { region: "xxx" } }, "us-phoenix-1"],
    ["a VCN as compartment", { compartment: VCN }, "the OCID of a compartment"],
    ["a compartment name", { compartment: "nodes" }, "the OCID of a compartment"],
    ["no VCN", { vcn: undefined }, "vcn is required"],
    ["a user as tenancy", { auth: { tenancy: USER } }, "the OCID of a tenancy"],
    ["an invalid fingerprint", { auth: { fingerprint: "aa:bb" } }, "16 bytes"],
    ["no key", { auth: { keyFile: undefined } }, "the API signing key is required"],
    ["two key sources", { credentials: { file: "/key" } }, "the API signing key is required, once"],
    ["a private key in the configuration", { auth: { key: API_KEY.pem } }, "Unrecognized key"],
    ["a passphrase in the configuration", { auth: { passphrase: "s3cret" } }, "Unrecognized key"],
    [
      "an instance principal",
      { useInstancePrincipals: true },
      "an instance principal needs a machine on Oracle Cloud",
    ],
    ["workload identity", { useWorkloadIdentity: true }, "workload identity needs a machine on Oracle Cloud"],
    [
      "another realm without hosts",
      { auth: { tenancy: "ocid1.tenancy.oc77..t" } },
      "the tenancy's realm are unknown",
    ],
    ["http to another host", { endpoints: { iaas: "http://iaas.example.com" } }, "https is required"],
    [
      "a path in a host's URL",
      { endpoints: { iaas: "https://proxy.example.com/oci" } },
      "a URL of a host alone",
    ],
    [
      "an unknown security list mode",
      { loadBalancer: { securityListManagementMode: "Some" } },
      "securityListManagementMode",
    ],
    ["a rate of 0", { rateLimiter: { rateLimitQPSRead: 0 } }, "rateLimitQPSRead"],
    ["an unknown key", { clusterName: "a" }, "Unrecognized key"],
    ["an invalid address family", { ipFamily: "v6" }, "IPv4, IPv6 or both"],
  ])("rejects %s", (_, traits, message) => {
    const { error } = OciCloudConfig.safeParse(buildWrittenConfig(traits));
    expect(error?.message).toContain(message);
    expect(error?.message).not.toContain("s3cret");
  });
});

const STOCK = `
useInstancePrincipals: false
auth:
  region: us-phoenix-1
  tenancy: ${TENANCY}
  user: ${USER}
  key: |
    -----BEGIN RSA PRIVATE KEY-----
    s3cret-key
    -----END RSA PRIVATE KEY-----
  key_passphrase: s3cret-phrase
  fingerprint: ${API_KEY.fingerprint}
  regionKey: phx
compartment: ${COMPARTMENT}
vcn: ${VCN}
loadBalancer:
  subnet1: ocid1.subnet.oc1.phx.a
  subnet2: ""
  disableSecurityListManagement: true
rateLimiter:
  rateLimitQPSRead: 20.0
  rateLimitBucketRead: 5
metrics:
  collectorName: telemetry
  prefix: ""
tags:
  blockVolume:
    freeform: {a: b}
`;

describe("the stock controller's file", () => {
  const parse = (text: string) => parseCloudConfig("oci", text, {}, "/etc/oci/cloud-provider.yaml");
  const parsed = (text = STOCK): OciCloudConfig => {
    const outcome = parse(text);
    if (outcome.kind !== "cloud") throw new Error(JSON.stringify(outcome.faults));
    return OciCloudConfig.parse(outcome.cloud);
  };

  test("is read unchanged, and is the source of its key and passphrase", () => {
    expect(parsed()).toMatchObject({
      auth: { keyFile: "/etc/oci/cloud-provider.yaml", passphraseFile: "/etc/oci/cloud-provider.yaml" },
      compartment: COMPARTMENT,
      loadBalancer: { subnet1: "ocid1.subnet.oc1.phx.a", securityListManagementMode: "None" },
    });
  });

  test("never reveals either", () => {
    const config = parsed();
    const told = [
      config,
      oci.getQuotaKey(config),
      oci.describeCredentialSource(config),
      oci.listConfigWarnings?.(config),
    ];
    expect(JSON.stringify(told)).not.toContain("s3cret");
    expect(oci.describeCredentialSource(config)).toBe(
      "the API signing key in the file /etc/oci/cloud-provider.yaml",
    );
  });

  test("may have ineffective keys, which are reported once", () => {
    expect(oci.listConfigWarnings?.(parsed())).toEqual([
      "metrics, regionKey, tags.blockVolume: without effect here, and can be removed",
    ]);
    expect(oci.listConfigWarnings?.(buildConfig())).toEqual([]);
  });

  test.each<[string, string, string, string, string]>([
    ["a key that is unknown", "vcn:", "vnc:", "--cloud-config vnc", "did you mean vcn?"],
    [
      "an unknown nested key",
      "  subnet1:",
      "  subnet3:",
      "--cloud-config loadBalancer.subnet3",
      "did you mean subnet",
    ],
    [
      "an instance principal",
      "useInstancePrincipals: false",
      "useInstancePrincipals: true",
      "--cloud-config useInstancePrincipals",
      "an instance principal",
    ],
    ["a duplicate key", "  regionKey: phx", "  keyFile: /key", "--cloud-config auth.key", "unknown key"],
    [
      "a string as auth",
      STOCK.slice(STOCK.indexOf("auth:"), STOCK.indexOf("compartment:")),
      "auth: s3cret\n",
      "--cloud-config auth",
      "mapping",
    ],
  ])("with %s is rejected, without its secrets", (_, there, instead, name, message) => {
    const outcome = parse(STOCK.replace(there, instead));
    if (outcome.kind !== "faults") throw new Error("no faults");
    expect(outcome.faults).toContainEqual({ name, message: expect.stringContaining(message) });
    expect(JSON.stringify(outcome.faults)).not.toContain("s3cret");
  });

  test.each<[string, string, string]>([
    ["the compartment", `compartment: ${COMPARTMENT}`, "auth.compartment"],
    ["an instance principal", "useInstancePrincipals: false", "auth.useInstancePrincipals"],
  ])("may have %s in its old place", (_, line) => {
    const moved = STOCK.replace(`${line}\n`, "").replace("auth:\n", `auth:\n  ${line}\n`);
    expect(parsed(moved)).toEqual(parsed());
  });

  test("takes missing values from the environment", () => {
    const outcome = parseCloudConfig("oci", STOCK, {
      CLUSTER_IP_FAMILY: "IPv6",
      LOAD_BALANCER_PREFIX: "blue",
    });
    expect(outcome).toMatchObject({ kind: "cloud", cloud: { ipFamily: "IPv6", loadBalancerPrefix: "blue" } });
  });
});

test.each<[string, Record<string, unknown>, string, string]>([
  [
    "by its name",
    {},
    "https://iaas.us-phoenix-1.oraclecloud.com",
    "https://network-load-balancer-api.us-phoenix-1.oci.oraclecloud.com",
  ],
  [
    "by its short key",
    { auth: { region: "fra" } },
    "https://iaas.eu-frankfurt-1.oraclecloud.com",
    "https://network-load-balancer-api.eu-frankfurt-1.oci.oraclecloud.com",
  ],
  [
    "of the government realm",
    { auth: { region: "us-langley-1", tenancy: "ocid1.tenancy.oc2..t" } },
    "https://iaas.us-langley-1.oraclegovcloud.com",
    "https://network-load-balancer-api.us-langley-1.oci.oraclegovcloud.com",
  ],
  ["with configured hosts", { endpoints: URLS }, URLS.iaas, URLS.networkLoadBalancer],
])("knows the hosts of a region %s", (_, traits, iaas, networkLoadBalancer) => {
  expect(buildBaseUrls(buildConfig(traits))).toMatchObject({ iaas, networkLoadBalancer });
});

test.each<[string, Record<string, unknown>, Record<string, unknown>, boolean]>([
  ["of two clusters of one user", {}, { compartment: "ocid1.compartment.oc1..c2" }, true],
  ["of a region and its short key", {}, { auth: { region: "phx" } }, true],
  ["of two users", {}, { auth: { user: "ocid1.user.oc1..u2" } }, false],
  ["of two regions", {}, { auth: { region: "iad" } }, false],
])("whether the quotas %s share a key", (_, one, other, same) => {
  expect(oci.getQuotaKey(buildConfig(one)) === oci.getQuotaKey(buildConfig(other))).toBe(same);
});

test("a missing key is an error as soon as the cloud is loaded", async () => {
  const config = buildConfig({ auth: { keyFile: "/nowhere/key.pem" } });
  await expect(loadOciCloud(config)).rejects.toThrow("/nowhere/key.pem cannot be read (ENOENT)");
  await expect(loadCloud(config, { clusterName: "blue" })).rejects.toThrow("/nowhere/key.pem");
});
