import { describe, expect, test } from "vitest";
import { Cluster } from "#config/cluster.ts";
import { listFaults } from "#core/config-errors.ts";
import { createCertificateAuthority } from "#emulators/harness/certificates.ts";

const AUTHORITY = Buffer.from((await createCertificateAuthority()).certificate).toString("base64");
const AWS = { provider: "aws", region: "eu-central-1", vpc: "vpc-0123456789abcdef0" };
const ENTRY = { name: "tenant-a", server: "https://a.example.com:6443", cloud: AWS };

const TOKEN = { kind: "token-file", file: "/run/token" };

describe("a cluster", () => {
  test("needs no more than a name, a server and a cloud", () => {
    expect(Cluster.parse(ENTRY)).toMatchObject({
      controllers: ["cloud-node-controller", "cloud-node-lifecycle-controller"],
      cloud: { nodeIPFamilies: ["ipv4"], matchByNodeIP: false },
      limits: { invocations: 4, requestsPerFunction: 32 },
      policies: { dryRun: false, labelsOnly: false },
    });
  });

  test.each([
    ["a server without TLS", { server: "http://a.example.com" }, ["server"]],
    ["an invalid name", { name: "Tenant A" }, ["name"]],
    ["a cloud that there is not", { cloud: { provider: "acme" } }, ["cloud.provider"]],
    ["neither VPC nor cluster tag", { cloud: { ...AWS, vpc: undefined } }, ["cloud.vpc"]],
    ["a family twice", { cloud: { ...AWS, nodeIPFamilies: ["ipv4", "ipv4"] } }, ["cloud.nodeIPFamilies"]],
    [
      "an invalid pattern",
      { cloud: { ...AWS, topologyInstanceTypePattern: "(" } },
      ["cloud.topologyInstanceTypePattern"],
    ],
    [
      "certificates for addresses that are the nodes' own word",
      { cloud: { provider: "no-cloud" }, controllers: ["csr-approver"] },
      ["controllers"],
    ],
    ["an unknown key", { polices: {} }, ["polices"]],
    ["invalid data of an authority", { certificateAuthorityData: "Zm9v" }, ["certificateAuthorityData"]],
    [
      "an authority in two places",
      { certificateAuthorityData: AUTHORITY, certificateAuthorityFile: "/ca.crt" },
      ["certificateAuthorityData"],
    ],
    ["a writer that there is not", { writes: "both" }, ["writes"]],
    [
      "a controller of the cloud where the relay writes",
      { writes: "relay", controllers: ["cloud-node-controller", "service-lb-controller", "tagging"] },
      ["controllers[1]", "controllers[2]"],
    ],
    [
      "a function's sign-in where the relay writes",
      { writes: "relay", signIn: { relay: TOKEN, functions: TOKEN, node: TOKEN } },
      ["signIn.functions", "signIn.node"],
    ],
    ["a password in the server's URL", { server: "https://me:s3cret@a.example.com" }, ["server"]],
  ])("is refused with %s", (_, difference, paths) => {
    const { error } = Cluster.safeParse({ ...ENTRY, ...difference });
    expect(error && listFaults(error).map(({ path }) => path)).toEqual(paths);
  });

  test("may be written by its relay alone, which is part of what relay and functions agree on", () => {
    const controllers = ["cloud-node-controller", "cloud-node-lifecycle-controller", "csr-approver"];
    const entry = { ...ENTRY, controllers, signIn: { relay: TOKEN } };
    expect(Cluster.parse({ ...entry, writes: "relay" })).toMatchObject({ writes: "relay" });
    expect(Cluster.parse(entry).writes).toBe("function");
    expect(Cluster.parse({ ...entry, writes: "relay" }).hash).not.toBe(Cluster.parse(entry).hash);
  });

  test.each([
    [{ configure: false }, ["cloud-node-controller"]],
    [{ configure: false, clusterCIDRs: ["10.128.0.0/14"] }, ["cloud-node-controller"]],
    [{ clusterCIDRs: ["10.128.0.0/14"] }, ["cloud-node-controller", "node-route-controller"]],
  ])("with routes %j has the controllers %j, whatever else its entry names", (routes, controllers) => {
    const named = ["cloud-node-controller", "node-route-controller"];
    expect(Cluster.parse({ ...ENTRY, controllers: named, routes }).controllers).toEqual(controllers);
  });

  test("that has no controller but that of routes, and no routes to be made, is refused", () => {
    const { error } = Cluster.safeParse({
      ...ENTRY,
      controllers: ["node-route-controller"],
      routes: { configure: false },
    });
    expect(error && listFaults(error)).toEqual([
      { path: "controllers", message: expect.stringContaining("routes.configure is false") },
    ]);
  });

  test("with a cluster tag needs no VPC", () => {
    const { vpc: _, ...cloud } = AWS;
    expect(Cluster.safeParse({ ...ENTRY, cloud: { ...cloud, clusterTag: "tenant-a" } }).success).toBe(true);
  });
});

test("takes the aliases of controllers that the command line takes, each controller once", () => {
  const controllers = ["cloud-node", "cloud-node-lifecycle", "service", "service-lb-controller", "csr"];
  expect(Cluster.parse({ ...ENTRY, controllers }).controllers).toEqual([
    "cloud-node-controller",
    "cloud-node-lifecycle-controller",
    "service-lb-controller",
    "csr-approver",
  ]);
});

test("holds what is required of a controller for its alias as well", () => {
  expect(() => Cluster.parse({ ...ENTRY, controllers: ["route"] })).toThrow("routes within the networks");
});
