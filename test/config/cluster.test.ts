import { describe, expect, test } from "vitest";
import { Cluster, ClustersFile, clusterFingerprint } from "#config/cluster.ts";
import { faultsOf } from "#core/faults.ts";

const AWS = { provider: "aws", region: "eu-central-1", vpc: "vpc-0123456789abcdef0" };
const ENTRY = { name: "tenant-a", server: "https://a.example.com:6443", cloud: AWS };

describe("a cluster", () => {
  test("needs no more than a name, a server and a cloud", () => {
    expect(Cluster.parse(ENTRY)).toMatchObject({
      controllers: ["cloud-node-controller"],
      cloud: { nodeIPFamilies: ["ipv4"], matchByNodeIP: false },
      limits: { invocations: 4, requestsPerFunction: 32 },
      policies: { dryRun: false, labelsOnly: false },
    });
  });

  test.each([
    ["a server without TLS", { server: "http://a.example.com" }, ["server"]],
    ["a name that is none", { name: "Tenant A" }, ["name"]],
    ["a cloud that there is not", { cloud: { provider: "acme" } }, ["cloud.provider"]],
    ["neither VPC nor cluster tag", { cloud: { ...AWS, vpc: undefined } }, ["cloud.vpc"]],
    ["a family twice", { cloud: { ...AWS, nodeIPFamilies: ["ipv4", "ipv4"] } }, ["cloud.nodeIPFamilies"]],
    [
      "a pattern that is none",
      { cloud: { ...AWS, topologyInstanceTypePattern: "(" } },
      ["cloud.topologyInstanceTypePattern"],
    ],
    ["an unknown key", { polices: {} }, [""]],
  ])("is refused with %s", (_, difference, paths) => {
    const { error } = Cluster.safeParse({ ...ENTRY, ...difference });
    expect(error && faultsOf(error).map(({ path }) => path)).toEqual(paths);
  });

  test("with a cluster tag needs no VPC", () => {
    const { vpc: _, ...cloud } = AWS;
    expect(Cluster.safeParse({ ...ENTRY, cloud: { ...cloud, clusterTag: "tenant-a" } }).success).toBe(true);
  });
});

test("two clusters of a file have two names", () => {
  const { error } = ClustersFile.safeParse({ clusters: [ENTRY, ENTRY] });
  expect(error && faultsOf(error)).toEqual([
    { path: "clusters", message: "two clusters have the same name" },
  ]);
});

describe("a fingerprint", () => {
  const fingerprint = (difference: object) => clusterFingerprint(Cluster.parse({ ...ENTRY, ...difference }));

  test.each([
    ["the order of keys", { cloud: { vpc: AWS.vpc, region: AWS.region, provider: "aws" } }],
    ["a key that is not set", { cloud: { ...AWS, clusterTag: undefined } }],
    ["a default that is spelled out", { policies: { dryRun: false } }],
    ["how somebody signs in", { signIn: { relay: { kind: "token-file", file: "/run/token" } } }],
    ["where the authority's certificate is", { certificateAuthorityFile: "/etc/ca.pem" }],
  ])("does not depend on %s", (_, difference) => {
    expect(fingerprint(difference)).toBe(fingerprint({}));
  });

  test.each([
    ["the server", { server: "https://b.example.com:6443" }],
    ["the cloud", { cloud: { ...AWS, region: "eu-west-1" } }],
    ["the families' order", { cloud: { ...AWS, nodeIPFamilies: ["ipv6", "ipv4"] } }],
    ["a limit", { limits: { invocations: 5 } }],
    ["a policy", { policies: { labelsOnly: true } }],
  ])("depends on %s", (_, difference) => {
    expect(fingerprint(difference)).not.toBe(fingerprint({}));
  });
});
