import { generateKeyPairSync } from "node:crypto";
import { expect, test } from "vitest";
import {
  createVerifySignature,
  derivePublicKey,
  parsePublicKeys,
  signCluster,
} from "#functions/parts/cluster-signature.ts";

const createKey = (): string =>
  generateKeyPairSync("ed25519").privateKey.export({ format: "pem", type: "pkcs8" }).toString();
const KEY = createKey();
const OTHER_KEY = createKey();
const parsed = parsePublicKeys(derivePublicKey(KEY));
const KEYS = parsed.kind === "keys" ? parsed.keys : [];

test.each([
  ["its own purpose and cluster", "audit", "blue", true],
  ["another cluster", "audit", "red", false],
  ["a cluster whose name begins with its own", "audit", "blue.prod", false],
  ["another purpose", "admission", "blue", false],
] as const)("a signature of audit for blue is checked for %s", (_, purpose, cluster, expected) => {
  const signature = signCluster("audit", "blue", KEY);
  expect(createVerifySignature(purpose, KEYS)(cluster, signature)).toBe(expected);
});

test("a signature of admission is no token for audit", () => {
  expect(createVerifySignature("audit", KEYS)("blue", signCluster("admission", "blue", KEY))).toBe(false);
});

test.each([
  ["no signature", ""],
  ["another operator's", signCluster("audit", "blue", OTHER_KEY)],
  ["a shorter one", signCluster("audit", "blue", KEY).slice(1)],
  ["a long text", "A".repeat(100_000)],
])("rejects %s", (_, signature) => {
  expect(createVerifySignature("audit", KEYS)("blue", signature)).toBe(false);
});

test("rejects everything without keys", () => {
  expect(createVerifySignature("audit", [])("blue", signCluster("audit", "blue", KEY))).toBe(false);
});

test("accepts each of two keys while one replaces the other", () => {
  const both = parsePublicKeys(`${derivePublicKey(KEY)},${derivePublicKey(OTHER_KEY)}`);
  const verify = createVerifySignature("audit", both.kind === "keys" ? both.keys : []);
  for (const key of [KEY, OTHER_KEY]) expect(verify("blue", signCluster("audit", "blue", key))).toBe(true);
});
