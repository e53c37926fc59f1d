import { afterEach, beforeEach, expect, test } from "vitest";
import { diagnoseHcloud } from "#clouds/hcloud/diagnose.ts";
import type { CheckResult } from "#core/check-result.ts";
import type { FakeAnswer } from "#test/clouds/fake-api.ts";
import {
  buildErrorAnswer,
  type FakeHcloud,
  NETWORK,
  SELECTOR,
  startFakeHcloud,
  TOKEN,
} from "#test/clouds/hcloud/fake-server.ts";
import { buildConfig } from "#test/clouds/hcloud/world.ts";

let fake: FakeHcloud;
beforeEach(async () => {
  fake = await startFakeHcloud();
});
afterEach(() => fake.close());

const EMPTY = { servers: [], meta: { pagination: { next_page: null } } };

test.each<
  [string, "credentials" | "network", object, FakeAnswer | undefined, CheckResult["outcome"], string]
>([
  ["a token", "credentials", {}, undefined, "ok", "may list servers"],
  ["a rejected token", "credentials", {}, buildErrorAnswer(401, "unauthorized"), "failed", "401"],
  [
    "an API that echoes the token",
    "credentials",
    {},
    { status: 401, body: JSON.stringify({ error: { code: "unauthorized", message: `who is ${TOKEN}?` } }) },
    "failed",
    "who is …?",
  ],
  ["an unreachable API", "credentials", {}, "destroy", "failed", "GET /servers"],
  ["a network", "network", {}, undefined, "ok", `network ${NETWORK}, labels ${SELECTOR}: 2 servers`],
  ["a network by its name", "network", { network: "blue" }, undefined, "ok", `network ${NETWORK}`],
  ["a missing network", "network", { network: "815" }, undefined, "failed", "no network 815; it has"],
  [
    "an unknown network name",
    "network",
    { network: "red" },
    undefined,
    "failed",
    "no network red; it has blue (4711)",
  ],
  ["only labels", "network", { network: undefined }, undefined, "ok", `labels ${SELECTOR}: 2 servers`],
  [
    "labels that match no server",
    "network",
    { network: undefined, labelSelector: "cluster=red" },
    undefined,
    "warning",
    "no server",
  ],
  [
    "only servers of others",
    "network",
    { network: undefined },
    { status: 200, body: JSON.stringify({ ...EMPTY, servers: [{ id: 7, name: "theirs", labels: {} }] }) },
    "warning",
    "no server; for example, server 7 is not the cluster's",
  ],
  [
    "an unparseable answer",
    "network",
    { network: undefined },
    { status: 200, body: "{}" },
    "failed",
    "no list of servers",
  ],
])("%s", async (_, what, more, answer, outcome, message) => {
  fake.add();
  fake.add();
  fake.fault = () => answer;
  const config = buildConfig({ endpoint: `${fake.url}/v1`, ...more });
  const diagnosis = await diagnoseHcloud(config, {}, { HCLOUD_TOKEN: TOKEN });
  const finding = await diagnosis[what](AbortSignal.timeout(120_000));
  diagnosis.close();
  expect(finding).toMatchObject({ outcome, message: expect.stringContaining(message) });
  expect(finding.remedy === undefined).toBe(outcome === "ok");
  expect(JSON.stringify(finding)).not.toContain(TOKEN);
});

test("one list serves all checks, and its date is the cloud's", async () => {
  const config = buildConfig({ endpoint: `${fake.url}/v1`, network: undefined });
  const diagnosis = await diagnoseHcloud(config, {}, { HCLOUD_TOKEN: TOKEN });
  const signal = AbortSignal.timeout(120_000);
  await diagnosis.credentials(signal);
  await diagnosis.network(signal);
  expect(Math.abs((await diagnosis.clockAheadMs(signal)) ?? Number.NaN)).toBeLessThan(60_000);
  diagnosis.close();
  expect(fake.requests.length).toBe(1);
});

test("without a token no check is possible", async () => {
  await expect(diagnoseHcloud(buildConfig(), {}, {})).rejects.toThrow("tokenFile is required");
});
