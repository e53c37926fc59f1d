import { afterEach, beforeEach, expect, test } from "vitest";
import { RancherCloudConfig } from "#clouds/rancher/config.ts";
import { diagnoseRancher } from "#clouds/rancher/diagnose.ts";
import type { CheckResult } from "#core/check-result.ts";
import {
  buildJsonAnswer,
  buildRancherError,
  buildStatusAnswer,
  CLUSTER,
  type FakeAnswer,
  type FakeManagement,
  startFakeManagement,
  TOKEN,
} from "#test/clouds/rancher/fake-management.ts";

let fake: FakeManagement;
beforeEach(async () => {
  fake = await startFakeManagement();
});
afterEach(() => fake.close());

const diagnose = (cluster = CLUSTER, environment: Record<string, string> = { RANCHER_TOKEN: TOKEN }) => {
  const rancher = { url: fake.url, cluster };
  const config = { provider: "rancher", distribution: "rke2", existence: "rancher", rancher };
  return diagnoseRancher(RancherCloudConfig.parse(config), environment);
};

test.each<
  [string, "credentials" | "network", FakeAnswer | undefined, CheckResult["outcome"], string, string]
>([
  ["a token", "credentials", undefined, "ok", "accepts the token", ""],
  [
    "a rejected token",
    "credentials",
    buildRancherError(401, "Unauthorized", "no"),
    "failed",
    "401",
    "expired",
  ],
  [
    "a server that echoes the token",
    "credentials",
    buildRancherError(401, "Unauthorized", `who is ${TOKEN}?`),
    "failed",
    "who is …?",
    "expired",
  ],
  [
    "a server without Cluster API",
    "credentials",
    buildStatusAnswer(404, "NotFound"),
    "failed",
    "404",
    "rancher.url",
  ],
  [
    "something else at that URL",
    "credentials",
    buildJsonAnswer(200, {}),
    "failed",
    "not an API group",
    "rancher.url",
  ],
  ["a server that fails", "credentials", buildStatusAnswer(503, "Unavailable"), "failed", "503", "again"],
  ["Machines", "network", undefined, "ok", "2 Machines of cluster blue", ""],
])("%s", async (_, what, answer, outcome, message, remedy) => {
  fake.add();
  fake.add();
  fake.fault = () => answer;
  const diagnosis = await diagnose();
  const finding = await diagnosis?.[what](AbortSignal.timeout(120_000));
  diagnosis?.close();
  expect(finding).toMatchObject({ outcome, message: expect.stringContaining(message) });
  expect(finding?.remedy ?? "").toContain(remedy);
  expect(JSON.stringify(finding)).not.toContain(TOKEN);
});

test("a cluster without Machines gets a message that it may have been imported", async () => {
  const diagnosis = await diagnose("imported");
  const finding = await diagnosis?.network(AbortSignal.timeout(120_000));
  diagnosis?.close();
  expect(finding).toMatchObject({ outcome: "warning", remedy: expect.stringContaining("existence: none") });
});

test("a token that may not list Machines gets a message with the missing right", async () => {
  fake.fault = ({ path }) => (path.endsWith("/machines") ? buildStatusAnswer(403, "Forbidden") : undefined);
  const diagnosis = await diagnose();
  const finding = await diagnosis?.network(AbortSignal.timeout(120_000));
  diagnosis?.close();
  expect(finding).toMatchObject({
    outcome: "failed",
    remedy: expect.stringContaining("machines.cluster.x-k8s.io"),
  });
});

test("the date is the server's", async () => {
  const diagnosis = await diagnose();
  const ahead = await diagnosis?.clockAheadMs(AbortSignal.timeout(120_000));
  diagnosis?.close();
  expect(Math.abs(ahead ?? Number.NaN)).toBeLessThan(60_000);
});

test("without a server no check is possible", async () => {
  expect(
    await diagnoseRancher(RancherCloudConfig.parse({ provider: "rancher", distribution: "k3s" }), {}),
  ).toBeUndefined();
});

test("without a token no check is possible", async () => {
  await expect(diagnose(CLUSTER, {})).rejects.toThrow("rancher.tokenFile is required");
});
