import { describe, expect, it } from "vitest";
import { Cluster } from "#config/cluster.ts";
import { clusterHash } from "#config/cluster-hash.ts";

const ENTRY = {
  name: "blue",
  server: "https://api.blue.example",
  cloud: { provider: "memory", instancesFile: "instances.json" },
  policies: { dryRun: false, labelsOnly: true },
};

function hashOf(difference: object): string {
  return clusterHash(Cluster.parse({ ...ENTRY, ...difference }));
}

describe("the hash of a cluster's entry", () => {
  it("is 16 hexadecimal digits that stay the same from release to release", () => {
    expect(hashOf({})).toBe("ea809ab64fb8c3eb");
  });

  it.each([
    { given: "the order of keys", difference: { policies: { labelsOnly: true, dryRun: false } } },
    { given: "a default that is written out", difference: { controllers: ["cloud-node-controller"] } },
    { given: "the way to sign in", difference: { signIn: { relay: { kind: "token-file", file: "t" } } } },
  ])("does not depend on $given", ({ difference }) => {
    expect(hashOf(difference)).toBe(hashOf({}));
  });

  it.each([
    { given: "the server", difference: { server: "https://api.green.example" } },
    { given: "the cloud", difference: { cloud: { provider: "memory", instancesFile: "other.json" } } },
    { given: "a policy", difference: { policies: { dryRun: true, labelsOnly: true } } },
    { given: "a limit", difference: { limits: { invocations: 5 } } },
  ])("changes with $given", ({ difference }) => {
    expect(hashOf(difference)).not.toBe(hashOf({}));
  });
});
