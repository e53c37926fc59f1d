import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { createAwsCloud } from "#clouds/aws/cloud.ts";
import { AwsCloudConfig } from "#clouds/aws/config.ts";
import { aws } from "#clouds/aws/provider.ts";
import type { Cloud } from "#clouds/cloud.ts";
import { DEFAULT_VPC_ID } from "#emulators/ec2/build-instance.ts";
import { type Ec2Server, startEc2 } from "#emulators/ec2/server.ts";
import { buildCall, buildNode } from "#test/clouds/builders.ts";
import { formatAnswer } from "#test/clouds/conformance.ts";

const ROLE = "arn:aws:iam::210987654321:role/ccm";
const SECRET = "secret7a11";

let server: Ec2Server;
let folder: string;
let file: string;
let cloud: Cloud | undefined;
let wallMs: number;

beforeEach(async () => {
  server = await startEc2();
  folder = await mkdtemp(join(tmpdir(), "keys-"));
  file = join(folder, "keys.json");
  wallMs = Date.now();
  cloud = undefined;
  vi.stubEnv("AWS_ENDPOINT_URL_EC2", server.url);
  vi.stubEnv("AWS_ENDPOINT_URL_STS", server.url);
  vi.stubEnv("AWS_ACCESS_KEY_ID", "OWN");
  vi.stubEnv("AWS_SECRET_ACCESS_KEY", "own");
});
afterEach(async () => {
  await cloud?.close();
  await server.close();
  await rm(folder, { recursive: true });
  vi.unstubAllEnvs();
});

const put = (accessKeyId: string, more: object = {}): Promise<void> =>
  writeFile(file, JSON.stringify({ AccessKeyId: accessKeyId, SecretAccessKey: SECRET, ...more }));

async function ask(traits: object = {}): Promise<string> {
  const written = { provider: "aws", region: server.region, vpc: DEFAULT_VPC_ID, credentials: { file } };
  const config = AwsCloudConfig.parse({ ...written, ...traits });
  cloud ??= createAwsCloud(config, { clusterName: "blue", wallClock: () => wallMs });
  const { answers } = await cloud.instances(
    [buildNode({ providerID: "aws:///eu-central-1a/i-01234567" })],
    buildCall(),
  );
  const [answer] = answers;
  expect(JSON.stringify(answer)).not.toContain(SECRET);
  return answer?.kind === "error" ? `${answer.code}: ${answer.message}` : formatAnswer(answer as never);
}

/** Returns the access key IDs that signed the calls of an action. */
const keysOf = (action: string): string[] =>
  server.record().flatMap((call) => (call.action === action ? [call.accessKeyId] : []));

describe("access keys by reference", () => {
  test("sign all calls, in place of the process's own credentials", async () => {
    await put("TENANT");
    expect(await ask()).toBe("not-found");
    expect(new Set(keysOf("DescribeInstances"))).toEqual(new Set(["TENANT"]));
  });

  test("assume the configured role", async () => {
    await put("TENANT");
    expect(await ask({ roleArn: ROLE })).toBe("not-found");
    expect(keysOf("AssumeRole")).toEqual(["TENANT"]);
    expect(server.record().find(({ action }) => action === "DescribeInstances")).toMatchObject({
      roleArn: ROLE,
    });
  });

  test("are read again now and then", async () => {
    await put("FIRST");
    await ask();
    await put("SECOND");
    wallMs += 10_000;
    await ask();
    expect(new Set(keysOf("DescribeInstances"))).toEqual(new Set(["FIRST", "SECOND"]));
  });

  test.each(["AuthFailure", "InvalidClientTokenId"])(
    "are read again at once after a rejection: %s",
    async (code) => {
      await put("FIRST");
      await ask();
      await put("SECOND");
      server.set({ failures: [{ action: "DescribeInstances", kind: "error", count: 1, status: 401, code }] });
      expect(await ask()).toBe("not-found");
      expect(keysOf("DescribeInstances").at(-1)).toBe("SECOND");
    },
  );

  test.each<[string, () => Promise<void>, RegExp]>([
    ["are not there", async () => {}, /keys\.json cannot be read \(ENOENT\)/],
    [
      "are invalid",
      () => writeFile(file, SECRET),
      /holds no access keys; JSON with AccessKeyId and SecretAccessKey/,
    ],
    [
      "lack one half",
      () => writeFile(file, JSON.stringify({ SecretAccessKey: SECRET })),
      /holds no access keys/,
    ],
    [
      "have ended",
      () => put("OLD", { SessionToken: SECRET, Expiration: "2020-01-01T00:00:00Z" }),
      /have ended at 2020-01-01/,
    ],
  ])(
    "that %s are an error of every node, and no call uses the process's own credentials",
    async (_, write, says) => {
      await write();
      const said = await ask();
      expect(said).toMatch(/^Denied: /);
      expect(said).toMatch(says);
      expect(server.record()).toEqual([]);
    },
  );

  test("appear in messages as their reference, and quotas are kept by reference too", () => {
    const parse = (name: string, roleArn?: string) =>
      AwsCloudConfig.parse({
        provider: "aws",
        region: "eu-central-1",
        vpc: "vpc-1",
        credentials: { secretsManager: name },
        ...(roleArn && { roleArn }),
      });
    expect(aws.describeCredentialSource(parse("a"))).toBe("access keys in the secret a of Secrets Manager");
    expect(aws.describeCredentialSource(parse("a", ROLE))).toBe(
      `the role ${ROLE}, by access keys in the secret a of Secrets Manager`,
    );
    expect(aws.getQuotaKey(parse("a"))).toBe(aws.getQuotaKey(parse("a")));
    expect(aws.getQuotaKey(parse("a"))).not.toBe(aws.getQuotaKey(parse("b")));
    expect(aws.getQuotaKey(parse("a", ROLE))).toBe("aws 210987654321 eu-central-1");
  });
});
