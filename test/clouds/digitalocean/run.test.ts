import { describe, expect, test } from "vitest";
import { createDigitalOceanCloud } from "#clouds/digitalocean/cloud.ts";
import { DigitalOceanCloudConfig } from "#clouds/digitalocean/config.ts";
import { digitalocean } from "#clouds/digitalocean/provider.ts";
import { createFixedToken } from "#clouds/http/authorizer.ts";
import { buildErrorAnswer, type FakeAnswer } from "#emulators/digitalocean/answer.ts";
import { REGION, TOKEN, VPC } from "#emulators/digitalocean/names.ts";
import { startFakeDigitalOcean } from "#emulators/digitalocean/server.ts";
import { runOn, testRefusedRuns } from "#test/clouds/run-on.ts";

const SIGNED_IN = { DO_ACCESS_TOKEN: TOKEN };

const on = runOn(digitalocean, ["DO_ACCESS_TOKEN"]);

testRefusedRuns(on, TOKEN, [
  [
    "all that is missing, with the variables that would supply it",
    {},
    SIGNED_IN,
    ["--cloud-config region: ", "(or set REGION)"],
  ],
  [
    "no VPC and no tag",
    { region: REGION },
    SIGNED_IN,
    ["vpc or dropletTag is required", "(or set DO_CLUSTER_VPC_ID)"],
  ],
  ["no token", { region: REGION, vpc: VPC }, {}, ["tokenFile is required if DO_ACCESS_TOKEN is not set"]],
  [
    "a missing token file",
    { region: REGION, vpc: VPC, tokenFile: "/nowhere/token" },
    SIGNED_IN,
    ["/nowhere/token cannot be read"],
  ],
  [
    "http to another host, from the environment",
    { region: REGION, vpc: VPC },
    { ...SIGNED_IN, DO_OVERRIDE_URL: "http://api.example.com" },
    ["--cloud-config apiURL: https is required"],
  ],
]);

describe("the region, when run starts", () => {
  const unknown = { region: "fra9", vpc: VPC };

  test("ends it with 2 if DigitalOcean does not have it, and names a similar one", async () => {
    const fake = await startFakeDigitalOcean();
    try {
      const { code, stderr } = await on.run(unknown, { ...SIGNED_IN, DO_OVERRIDE_URL: fake.url });
      expect(code).toBe(2);
      expect(stderr).toContain("--cloud-config region: DigitalOcean has no region fra9; perhaps fra1");
      expect(stderr).not.toContain(TOKEN);
    } finally {
      await fake.close();
    }
  });

  test.each<[string, FakeAnswer, string]>([
    ["a token that may not see regions", buildErrorAnswer(403, "forbidden"), "GET /v2/regions: 403"],
    ["a wrong token", buildErrorAnswer(401, "unauthorized"), "GET /v2/regions: 401"],
    ["an unparseable answer", { status: 200, body: "<html>" }, "GET /v2/regions: 200"],
  ])("is not checked if the check is uncertain: %s", async (_given, answer, words) => {
    const fake = await startFakeDigitalOcean();
    fake.fault = () => answer;
    const cloud = createDigitalOceanCloud(
      DigitalOceanCloudConfig.parse({ provider: "digitalocean", region: "fra9", vpc: VPC, apiURL: fake.url }),
      createFixedToken(TOKEN, "the token"),
    );
    try {
      const found = await cloud.checkConfiguration?.(AbortSignal.timeout(120_000));
      expect(found).toEqual({ faults: [], unchecked: expect.stringContaining(words) });
      expect(JSON.stringify(found)).not.toContain(TOKEN);
    } finally {
      await cloud.close();
      await fake.close();
    }
  });
});
