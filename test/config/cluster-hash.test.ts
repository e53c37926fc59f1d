import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import * as z from "zod";
import { Cluster, ClusterEntry, Limits, withHash } from "#config/cluster.ts";
import { Policies } from "#core/policies.ts";
import { createCertificateAuthority } from "#emulators/harness/certificates.ts";

const ENTRY = {
  name: "blue",
  server: "https://api.blue.example",
  cloud: { provider: "memory", instancesFile: "instances.json" },
  policies: { dryRun: false, labelsOnly: true },
};

const AUTHORITY = Buffer.from((await createCertificateAuthority()).certificate).toString("base64");

const hashOf = (difference: object): string => Cluster.parse({ ...ENTRY, ...difference }).hash;

const Kept = z.array(z.strictObject({ hash: z.string(), entry: z.looseObject({ name: z.string() }) }));
const keptFile = new URL("fixtures/kept-hashes.yaml", import.meta.url);
const kept = Kept.parse(parse(readFileSync(keptFile, "utf8")));

describe("a version and its predecessor, either one relay or function", () => {
  test.each(kept)("agree on $entry.name, $hash", ({ entry, hash }) => {
    expect(Cluster.parse(entry).hash).toBe(hash);
  });

  /** A possible later version: keys next to and within today's, with defaults. */
  const Later = withHash(
    ClusterEntry.extend({
      nextThing: z.int().prefault(7),
      limits: Limits.extend({ nextLimit: z.int().prefault(3) }).prefault({}),
      policies: Policies.extend({ nextPolicy: z.boolean().prefault(false) }).prefault({}),
    }),
  );

  test.each(kept)("agree on $entry.name where one of them knows keys with defaults", ({ entry, hash }) => {
    expect(Later.parse(entry)).toMatchObject({
      nextThing: 7,
      limits: { nextLimit: 3 },
      policies: { nextPolicy: false },
      hash,
    });
  });
});

describe("the hash of a cluster's entry", () => {
  test("is 16 hexadecimal digits", () => {
    expect(hashOf({})).toMatch(/^[0-9a-f]{16}$/);
  });

  test.each([
    ["the order of keys", { policies: { labelsOnly: true, dryRun: false } }],
    ["a key that is not set", { limits: undefined }],
    ["the way to sign in", { signIn: { relay: { kind: "token-file", file: "t" } } }],
    ["the way that a function signs in", { signIn: { "node-lifecycle": { kind: "token-file", file: "t" } } }],
    ["where the authority's certificate is", { certificateAuthorityFile: "/etc/ca.pem" }],
    ["the authority's certificate", { certificateAuthorityData: AUTHORITY }],
  ])("does not depend on %s", (_, difference) => {
    expect(hashOf(difference)).toBe(hashOf({}));
  });

  test.each([
    ["the name", { name: "green" }],
    ["the server", { server: "https://api.green.example" }],
    ["the cloud", { cloud: { provider: "memory", instancesFile: "other.json" } }],
    ["a policy", { policies: { dryRun: true, labelsOnly: true } }],
    ["a limit", { limits: { invocations: 5 } }],
    ["a controller", { controllers: ["cloud-node-controller"] }],
  ])("changes with %s", (_, difference) => {
    expect(hashOf(difference)).not.toBe(hashOf({}));
  });

  test("changes with the order of a list", () => {
    const aws = { provider: "aws", region: "eu-west-1", vpc: "vpc-0a" };
    const ofFamilies = (nodeIPFamilies: string[]) => hashOf({ cloud: { ...aws, nodeIPFamilies } });
    expect(ofFamilies(["ipv4", "ipv6"])).not.toBe(ofFamilies(["ipv6", "ipv4"]));
  });
});
