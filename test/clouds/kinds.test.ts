import { expect, test, vi } from "vitest";
import { loadCloud } from "#clouds/kinds.ts";
import { aConfig } from "#test/clouds/aws/ec2-world.ts";
import { errorAnswer, openGate } from "#test/clouds/aws/gate.ts";
import { aCall, aNode } from "#test/clouds/builders.ts";

test("aws is loaded, and names its session after the cluster", async () => {
  const gate = await openGate();
  gate.answer(errorAnswer(403, "AccessDenied"));
  vi.stubEnv("AWS_ENDPOINT_URL_STS", gate.url);
  vi.stubEnv("AWS_ACCESS_KEY_ID", "test");
  vi.stubEnv("AWS_SECRET_ACCESS_KEY", "test");
  const config = aConfig({ roleArn: "arn:aws:iam::123456789012:role/ccm" });
  const cloud = await loadCloud(config, { clusterName: "tenant-a" });
  await cloud.instances([aNode({ providerID: "i-01234567" })], aCall());
  expect(cloud.provider).toBe("aws");
  expect(gate.lastBody()).toContain("RoleSessionName=serverless-ccm-tenant-a");
  await Promise.all([cloud.close(), gate.close()]);
  vi.unstubAllEnvs();
});
