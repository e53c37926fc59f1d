import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createAwsCloud } from "#clouds/aws/cloud.ts";
import { AwsCloudConfig } from "#clouds/aws/config.ts";
import type { Cloud } from "#clouds/cloud.ts";
import { DEFAULT_VPC_ID } from "#emulators/ec2/build-instance.ts";
import { type Ec2Server, startEc2 } from "#emulators/ec2/server.ts";
import { buildCall, buildNode } from "#test/clouds/builders.ts";

const ROLE = "arn:aws:iam::123456789012:role/ccm";

let server: Ec2Server;
let cloud: Cloud;
let wallMs = Date.now();

beforeEach(async () => {
  server = await startEc2();
  vi.stubEnv("AWS_ENDPOINT_URL_EC2", server.url);
  vi.stubEnv("AWS_ENDPOINT_URL_STS", server.url);
  vi.stubEnv("AWS_ACCESS_KEY_ID", "test");
  vi.stubEnv("AWS_SECRET_ACCESS_KEY", "test");
  const { region } = server;
  const config = AwsCloudConfig.parse({ provider: "aws", region, vpc: DEFAULT_VPC_ID, roleArn: ROLE });
  wallMs = Date.now();
  cloud = createAwsCloud(config, { wallClock: () => wallMs });
});
afterEach(async () => {
  await cloud.close();
  await server.close();
  vi.unstubAllEnvs();
});

test("a session that the service ended early is replaced within the call", async () => {
  expect(await ask()).toBe("found");
  server.expireSessions();
  expect(await ask()).toBe("found");
  expect(server.assumedRoles()).toHaveLength(2);
});

test("several calls rejected at a time request one new session", async () => {
  expect(await ask()).toBe("found");
  server.expireSessions();
  expect(await Promise.all([ask(), ask(), ask()])).toEqual(["found", "found", "found"]);
  expect(server.assumedRoles()).toHaveLength(2);
});

test("sessions that end repeatedly are replaced once a minute", async () => {
  expect(await ask()).toBe("found");
  server.expireSessions();
  expect(await ask()).toBe("found");
  server.expireSessions();
  expect(await ask()).toBe("Denied");
  expect(await ask()).toBe("Denied");
  expect(server.assumedRoles()).toHaveLength(2);
  wallMs += 60_000;
  expect(await ask()).toBe("found");
  expect(server.assumedRoles()).toHaveLength(3);
});

async function ask(): Promise<string | undefined> {
  const { id, availabilityZone } = server.addInstance();
  const node = buildNode({ providerID: `aws:///${availabilityZone}/${id}` });
  const { answers } = await cloud.instances([node], buildCall());
  const [answer] = answers;
  return answer?.kind === "error" ? answer.code : answer?.kind;
}
