import { afterEach, beforeEach, expect, test } from "vitest";
import { diagnoseDigitalOcean } from "#clouds/digitalocean/diagnose.ts";
import type { Finding } from "#core/finding.ts";
import type { FakeAnswer } from "#emulators/digitalocean/answer.ts";
import { TAG, TOKEN, VPC } from "#emulators/digitalocean/names.ts";
import { type FakeDigitalOcean, startFakeDigitalOcean } from "#emulators/digitalocean/server.ts";
import { aConfig } from "#test/clouds/digitalocean/world.ts";

let fake: FakeDigitalOcean;

beforeEach(async () => {
  fake = await startFakeDigitalOcean();
});
afterEach(() => fake.close());

const OTHER_VPC = "860e09ef-dc84-11e8-981e-3cfdfeaae000";

test.each<[string, "credentials" | "network", object, FakeAnswer | undefined, Finding["outcome"], string]>([
  ["a token", "credentials", {}, undefined, "ok", "may list droplets"],
  [
    "a token that is refused",
    "credentials",
    {},
    { status: 401, body: '{"id":"unauthorized"}' },
    "failed",
    "401",
  ],
  ["an API that is away", "credentials", {}, "destroy", "failed", "GET /v2/droplets"],
  ["a VPC with droplets", "network", {}, undefined, "ok", `VPC ${VPC}, tag ${TAG} in fra1: 2 droplets`],
  ["another VPC", "network", { vpc: OTHER_VPC }, undefined, "warning", `no droplet; for example, droplet`],
  ["a region misspelt", "network", { region: "fraa1" }, undefined, "failed", "no region fraa1; perhaps fra1"],
  ["another region", "network", { region: "ams3" }, undefined, "warning", "expected region ams3, found fra1"],
  ["another tag", "network", { dropletTag: "others" }, undefined, "warning", "no droplet"],
  ["rubbish", "network", {}, { status: 200, body: "{}" }, "failed", "no list of droplets"],
])("%s", async (_, what, more, answer, outcome, message) => {
  fake.add();
  fake.add();
  fake.fault = () => answer;
  const diagnosis = await diagnoseDigitalOcean(aConfig({ apiURL: fake.url, ...more }), {
    DO_ACCESS_TOKEN: TOKEN,
  });
  const finding = await diagnosis[what](AbortSignal.timeout(10_000));
  diagnosis.close();
  expect(finding).toMatchObject({ outcome, message: expect.stringContaining(message) });
  expect(finding.remedy === undefined).toBe(outcome === "ok");
});

test("one request serves all that is looked at, and its date is the cloud's", async () => {
  fake.add();
  const diagnosis = await diagnoseDigitalOcean(aConfig({ apiURL: fake.url }), { DO_ACCESS_TOKEN: TOKEN });
  const signal = AbortSignal.timeout(10_000);
  await diagnosis.credentials(signal);
  await diagnosis.network(signal);
  expect(Math.abs((await diagnosis.clockAheadMs(signal)) ?? Number.NaN)).toBeLessThan(60_000);
  diagnosis.close();
  expect(fake.requests.length).toBe(1);
});

test("a token that may not list regions is not told that its region is wrong", async () => {
  fake.add();
  fake.scopes.delete("regions:read");
  const config = aConfig({ apiURL: fake.url, region: "fraa1" });
  const diagnosis = await diagnoseDigitalOcean(config, { DO_ACCESS_TOKEN: TOKEN });
  const finding = await diagnosis.network(AbortSignal.timeout(10_000));
  diagnosis.close();
  expect(finding).toMatchObject({ outcome: "warning", message: expect.stringContaining("no droplet") });
});

test("without a token there is nothing to look with", async () => {
  await expect(diagnoseDigitalOcean(aConfig(), {})).rejects.toThrow("tokenFile is required");
});
