import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { AwsCloudConfig } from "#clouds/aws/config.ts";
import { SESSION_POLICIES } from "#clouds/aws/session-policy.ts";
import { buildPrincipalKey, createSharedCredentials } from "#clouds/aws/shared-reads/sharing-loader.ts";
import type { LoadCloudOptions } from "#clouds/provider.ts";
import { type Gate, openGate } from "#test/clouds/aws/gate.ts";

const ROLE = "arn:aws:iam::210987654321:role/tenants/{function}/ccm";
const SESSION_ROLE = "arn:aws:iam::123456789012:role/serverless-ccm-node-session";

const buildConfig = (more: object = {}): AwsCloudConfig =>
  AwsCloudConfig.parse({ provider: "aws", region: "eu-central-1", clusterTag: "prod", ...more });
const keyOf = (more: object, options: LoadCloudOptions = {}) => buildPrincipalKey(buildConfig(more), options);

describe("two clusters share reads if they differ by", () => {
  test.each<[string, object]>([
    ["their tag and their VPC", { clusterTag: "other", vpc: "vpc-2" }],
    ["their session policy, with a role", { sessionPolicy: "strict" }],
    ["settings of load balancers", { replaceOnTypeChange: true }],
    ["other quotas", { quotas: { "elbv2 changing": { burst: 1, refillPerSecond: 1 } } }],
  ])("%s", (_, more) => {
    expect(keyOf({ roleArn: ROLE, ...more })).toBe(keyOf({ roleArn: ROLE }));
  });
});

describe("two clusters share no reads if they differ by", () => {
  test.each<[string, object]>([
    ["the region", { region: "eu-west-1" }],
    ["the role", { roleArn: "arn:aws:iam::210987654321:role/other" }],
    ["the external id, which proves who the caller is", { externalId: "tenant-b" }],
    ["the ARN that calls for them", { sourceArn: "arn:aws:eks:eu-central-1:1:cluster/b" }],
    ["the secret of their access keys", { credentials: { ssmParameter: "/b/keys" } }],
    ["the region of that secret", { credentials: { ssmParameter: "/a/keys", region: "eu-west-1" } }],
    ["the quota of the calls", { quotas: { DescribeInstances: { burst: 1, refillPerSecond: 1 } } }],
  ])("%s", (_, more) => {
    const entry = { roleArn: ROLE, externalId: "tenant-a", credentials: { ssmParameter: "/a/keys" } };
    expect(keyOf({ ...entry, ...more })).not.toBe(keyOf(entry));
  });

  test("whether their own sessions use the deployment's role", () => {
    const options = { sessionRoleArn: SESSION_ROLE };
    expect(keyOf({ sessionPolicy: "none" }, options)).not.toBe(keyOf({}, options));
    expect(keyOf({ sessionPolicy: "none" })).toBe(keyOf({}));
  });
});

describe("the shared session", () => {
  let sts: Gate;
  beforeAll(async () => {
    sts = await openGate();
    vi.stubEnv("AWS_ENDPOINT_URL_STS", sts.url);
    vi.stubEnv("AWS_ACCESS_KEY_ID", "test");
    vi.stubEnv("AWS_SECRET_ACCESS_KEY", "test");
  });
  beforeEach(() => sts.answer({ status: 200, body: ASSUMED }));
  afterAll(async () => {
    await sts.close();
    vi.unstubAllEnvs();
  });

  async function assume(more: object, options: LoadCloudOptions = {}) {
    await createSharedCredentials(buildConfig(more), options, Date.now)?.();
    return new URLSearchParams(sts.lastBody());
  }

  test.each(SESSION_POLICIES)(
    "of clusters with sessionPolicy %s may describe instances, and nothing else",
    async (sessionPolicy) => {
      const request = await assume({ roleArn: ROLE, externalId: "tenant-a", sessionPolicy });
      expect(JSON.parse(request.get("Policy") ?? "")).toEqual({
        Version: "2012-10-17",
        Statement: [{ Effect: "Allow", Action: "ec2:DescribeInstances", Resource: "*" }],
      });
      expect(request.get("RoleArn")).toBe("arn:aws:iam::210987654321:role/tenants/node/ccm");
      expect(request.get("ExternalId")).toBe("tenant-a");
      expect(request.get("RoleSessionName")).toBe("serverless-ccm-shared-reads");
    },
  );

  test("has the policy in the deployment's role, too", async () => {
    const request = await assume({}, { functionName: "csr", sessionRoleArn: SESSION_ROLE });
    expect(request.get("RoleArn")).toBe(SESSION_ROLE);
    expect(request.get("Policy")).toContain('"ec2:DescribeInstances"');
  });

  test.each([
    ["no role", {}, {}],
    ["no role and no policy", { sessionPolicy: "none" }, { sessionRoleArn: SESSION_ROLE }],
  ])("of clusters with %s is the process's own", (_, more, options) => {
    expect(createSharedCredentials(buildConfig(more), options, Date.now)).toBeUndefined();
  });
});

const ASSUMED = `<AssumeRoleResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleResult><Credentials><AccessKeyId>ASIAASSUMED000000</AccessKeyId><SecretAccessKey>S</SecretAccessKey><SessionToken>T</SessionToken><Expiration>2036-01-01T00:00:00Z</Expiration></Credentials></AssumeRoleResult></AssumeRoleResponse>`;
