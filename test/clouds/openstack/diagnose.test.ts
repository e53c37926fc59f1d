import { afterEach, beforeEach, expect, test } from "vitest";
import { diagnoseOpenStack } from "#clouds/openstack/diagnose.ts";
import type { CheckResult } from "#core/check-result.ts";
import type { FakeAnswer } from "#test/clouds/fake-api.ts";
import {
  errors,
  type FakeOpenStack,
  NETWORK,
  PROJECT,
  startFakeOpenStack,
  TAG,
} from "#test/clouds/openstack/fake-server.ts";
import { buildConfig, SIGNED_IN } from "#test/clouds/openstack/world.ts";

let fake: FakeOpenStack;
beforeEach(async () => {
  fake = await startFakeOpenStack();
});
afterEach(() => fake.close());

const OTHER = "11111111-2222-4333-8444-555555555555";

test.each<
  [string, "credentials" | "network", object, FakeAnswer | undefined, CheckResult["outcome"], string]
>([
  ["a secret", "credentials", {}, undefined, "ok", `a token for project ${PROJECT}`],
  ["a wrong secret", "credentials", {}, errors.keystone(401, "Unauthorized"), "failed", "401"],
  [
    "a misspelled region",
    "credentials",
    { region: "RegionOnne" },
    undefined,
    "failed",
    "it has public in RegionOne",
  ],
  ["an unreachable cloud", "credentials", {}, "destroy", "failed", "POST /v3/auth/tokens"],
  [
    "a tag and metadata",
    "network",
    {},
    undefined,
    "ok",
    `tag ${TAG}, metadata cluster=blue in RegionOne: 2 servers`,
  ],
  ["a network", "network", { "network-id": NETWORK }, undefined, "ok", `network ${NETWORK}, tag`],
  [
    "another network",
    "network",
    { "network-id": OTHER },
    undefined,
    "warning",
    `no server; for example, server`,
  ],
  ["another tag", "network", { "server-tag": "red" }, undefined, "warning", "no server"],
  ["a secret that Nova rejects", "network", {}, errors.keystone(401, "Unauthorized"), "failed", "401"],
])("%s", async (_, what, more, answer, outcome, message) => {
  fake.add();
  fake.add();
  fake.fault = () => answer;
  const config = buildConfig({ "auth-url": fake.authURL, ...more });
  const diagnosis = await diagnoseOpenStack(config, {}, SIGNED_IN);
  const finding = await diagnosis[what](AbortSignal.timeout(120_000));
  diagnosis.close();
  expect(finding).toMatchObject({ outcome, message: expect.stringContaining(message) });
  expect(finding.remedy === undefined).toBe(outcome === "ok");
});

test("a rejection by Nova is reported", async () => {
  fake.fault = ({ path }) => (path.startsWith("/compute/") ? errors.nova(403, "forbidden") : undefined);
  const diagnosis = await diagnoseOpenStack(buildConfig({ "auth-url": fake.authURL }), {}, SIGNED_IN);
  const finding = await diagnosis.network(AbortSignal.timeout(120_000));
  diagnosis.close();
  expect(finding).toMatchObject({ outcome: "failed", message: expect.stringContaining("403, forbidden") });
});

test("without a secret no check is possible", async () => {
  await expect(diagnoseOpenStack(buildConfig(), {}, {})).rejects.toThrow("secret-file is required");
});
