import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createDigitalOceanCloud } from "#clouds/digitalocean/cloud.ts";
import { DigitalOceanCloudConfig } from "#clouds/digitalocean/kind.ts";
import { fixedToken } from "#clouds/http/token-file.ts";
import { errorAnswer, type FakeAnswer } from "#emulators/digitalocean/answer.ts";
import { REGION, TOKEN, VPC } from "#emulators/digitalocean/names.ts";
import { startFakeDigitalOcean } from "#emulators/digitalocean/server.ts";
import { type Ended, runProgram } from "#test/cli/program.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "run-digitalocean-"));
  const kubeconfig = {
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "blue", cluster: { server: "https://127.0.0.1:1" } }],
    users: [{ name: "blue", user: { token: "s3cret" } }],
    contexts: [{ name: "blue", context: { cluster: "blue", user: "blue" } }],
    "current-context": "blue",
  };
  await writeFile(join(folder, "kubeconfig"), JSON.stringify(kubeconfig));
});
afterAll(() => rm(folder, { recursive: true }));

test.each<[string, string, Record<string, string>, readonly string[]]>([
  [
    "all that is missing, with the variables that would supply it",
    "{}",
    { DO_ACCESS_TOKEN: TOKEN },
    ["--cloud-config region: ", "(or set REGION)"],
  ],
  [
    "no VPC and no tag",
    `region: ${REGION}`,
    { DO_ACCESS_TOKEN: TOKEN },
    ["vpc or dropletTag is required", "(or set DO_CLUSTER_VPC_ID)"],
  ],
  [
    "no token",
    `region: ${REGION}\nvpc: ${VPC}`,
    {},
    ["tokenFile is required where DO_ACCESS_TOKEN is not set"],
  ],
  [
    "a token file that is not there",
    `region: ${REGION}\nvpc: ${VPC}\ntokenFile: /nowhere/token`,
    { DO_ACCESS_TOKEN: TOKEN },
    ["/nowhere/token cannot be read"],
  ],
  [
    "http to elsewhere, from the environment",
    `region: ${REGION}\nvpc: ${VPC}`,
    { DO_ACCESS_TOKEN: TOKEN, DO_OVERRIDE_URL: "http://api.example.com" },
    ["--cloud-config apiURL: https is required"],
  ],
])("run with %s ends with 2 and says so", async (_, config, environment, messages) => {
  const { code, stderr } = await run(config, environment);
  expect(code).toBe(2);
  for (const message of messages) expect(stderr).toContain(message);
  expect(stderr).not.toContain(TOKEN);
});

describe("the region, when run starts", () => {
  const unknown = `region: fra9\nvpc: ${VPC}`;

  test("ends it with 2 where DigitalOcean does not have it, and names the one that is meant", async () => {
    const fake = await startFakeDigitalOcean();
    try {
      const { code, stderr } = await run(unknown, { DO_ACCESS_TOKEN: TOKEN, DO_OVERRIDE_URL: fake.url });
      expect(code).toBe(2);
      expect(stderr).toContain("--cloud-config region: DigitalOcean has no region fra9; perhaps fra1");
      expect(stderr).not.toContain(TOKEN);
    } finally {
      await fake.close();
    }
  });

  test.each<[string, FakeAnswer, string]>([
    ["a token that may not see regions", errorAnswer(403, "forbidden"), "GET /v2/regions: 403"],
    ["a wrong token", errorAnswer(401, "unauthorized"), "GET /v2/regions: 401"],
    ["rubbish", { status: 200, body: "<html>" }, "GET /v2/regions: 200"],
  ])("is left alone where nobody can tell: %s", async (_given, answer, words) => {
    const fake = await startFakeDigitalOcean();
    fake.fault = () => answer;
    const cloud = createDigitalOceanCloud(
      DigitalOceanCloudConfig.parse({ provider: "digitalocean", region: "fra9", vpc: VPC, apiURL: fake.url }),
      fixedToken(TOKEN, "the token"),
    );
    try {
      const found = await cloud.checkConfiguration?.(AbortSignal.timeout(5_000));
      expect(found).toEqual({ faults: [], unchecked: expect.stringContaining(words) });
      expect(JSON.stringify(found)).not.toContain(TOKEN);
    } finally {
      await cloud.close();
      await fake.close();
    }
  });
});

async function run(config: string, environment: Record<string, string>): Promise<Ended> {
  await writeFile(join(folder, "cloud.yaml"), config);
  const flags = ["--cloud-config", join(folder, "cloud.yaml"), "--kubeconfig", join(folder, "kubeconfig")];
  const none = { DO_ACCESS_TOKEN: "", DO_OVERRIDE_URL: "", REGION: "", DO_CLUSTER_VPC_ID: "" };
  return runProgram(["run", "--cloud-provider", "digitalocean", ...flags], "", { ...none, ...environment });
}
