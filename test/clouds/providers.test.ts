import { readFile } from "node:fs/promises";
import { expect, test, vi } from "vitest";
import { CLOUD_PROVIDERS, loadCloud } from "#clouds/providers.ts";
import { buildConfig } from "#test/clouds/aws/ec2-world.ts";
import { openGate } from "#test/clouds/aws/gate.ts";
import { buildCall, buildNode } from "#test/clouds/builders.ts";

test("aws is loaded, and names its session after the cluster", async () => {
  const gate = await openGate();
  const denial =
    "<ErrorResponse><Error><Code>AccessDenied</Code><Message>no</Message></Error></ErrorResponse>";
  gate.answer({ status: 403, body: denial });
  vi.stubEnv("AWS_ENDPOINT_URL_STS", gate.url);
  vi.stubEnv("AWS_ACCESS_KEY_ID", "test");
  vi.stubEnv("AWS_SECRET_ACCESS_KEY", "test");
  const config = buildConfig({ roleArn: "arn:aws:iam::123456789012:role/ccm" });
  const cloud = await loadCloud(config, { clusterName: "tenant-a" });
  await cloud.instances([buildNode({ providerID: "i-01234567" })], buildCall());
  expect(cloud.provider).toBe("aws");
  expect(gate.lastBody()).toContain("RoleSessionName=serverless-ccm-tenant-a");
  await Promise.all([cloud.close(), gate.close()]);
  vi.unstubAllEnvs();
});

test.each(CLOUD_PROVIDERS.map(({ provider, config, environment }) => ({ provider, config, environment })))(
  "$provider has a section in the reference, with its keys and variables",
  async ({ provider, config, environment }) => {
    const reference = await readFile(
      new URL("../../docs/reference/configuration.md", import.meta.url),
      "utf8",
    );
    const section = reference.split(/^### /m).find((each) => each.startsWith(`${provider}\n`));
    if (section === undefined)
      throw new Error(`docs/reference/configuration.md: add a section "### ${provider}" with its keys`);
    const keys = Object.keys(config.shape).filter((key) => key !== "provider");
    const variables = Object.values<readonly string[]>(environment).flat();
    const missing = [...keys, ...variables].filter((name) => !section.includes(`\`${name}\``));
    const advice = `docs/reference/configuration.md: add these keys and variables to the section "### ${provider}"`;
    expect(missing, advice).toEqual([]);
    expect(keys.length).toBeGreaterThan(0);
  },
);
