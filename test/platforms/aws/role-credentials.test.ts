import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { createAwsCloud } from "#clouds/aws/cloud.ts";
import { createRoleCredentials, formatSessionName } from "#platforms/aws/role-credentials.ts";
import { buildConfig } from "#test/clouds/aws/ec2-world.ts";
import { buildEc2Answer, buildStsErrorAnswer, type Gate, openGate } from "#test/clouds/aws/gate.ts";
import { buildCall, buildNode } from "#test/clouds/builders.ts";
import { formatAnswer } from "#test/clouds/conformance.ts";

const ROLE = "arn:aws:iam::210987654321:role/ccm";
const IDENTITY = { region: "eu-central-1", roleArn: ROLE, sourceArn: "arn:aws:eks:x", externalId: "tenant" };

describe("cached credentials", () => {
  function aSource() {
    const clock = { ms: 0 };
    const asked: string[] = [];
    const source = createRoleCredentials(
      { ...IDENTITY },
      "demo",
      () => clock.ms,
      async (_, sessionName) => {
        asked.push(sessionName);
        return {
          accessKeyId: `${asked.length}`,
          secretAccessKey: "s",
          expiration: new Date(clock.ms + 3_600_000),
        };
      },
    );
    if (source === undefined) throw new Error("no source");
    return { clock, asked, source };
  }

  test("are requested once for all waiting calls", async () => {
    const { asked, source } = aSource();
    await Promise.all([source(), source(), source()]);
    expect(asked).toEqual(["serverless-ccm-demo"]);
  });

  test.each([
    ["an hour less six minutes later, not", 54, 1],
    ["five minutes before their end", 55, 2],
  ])("are renewed: %s", async (_, minutes, expected) => {
    const { clock, asked, source } = aSource();
    await source();
    clock.ms += minutes * 60_000;
    expect((await source()).accessKeyId).toBe(String(expected));
    expect(asked).toHaveLength(expected);
  });

  test("without a role are left to the SDK", () => {
    expect(createRoleCredentials({ region: "eu-central-1" }, "demo", () => 0)).toBeUndefined();
  });
});

test.each([
  ["demo", "serverless-ccm-demo"],
  ["tenant/a b", "serverless-ccm-tenant-a-b"],
  ["x".repeat(100), `serverless-ccm-${"x".repeat(49)}`],
])("the session of %s is named %s", (cluster, expected) => {
  expect(formatSessionName(cluster)).toBe(expected);
});

describe("AssumeRole through the SDK", () => {
  let sts: Gate;
  let ec2: Gate;
  beforeAll(async () => {
    sts = await openGate();
    ec2 = await openGate();
    vi.stubEnv("AWS_ENDPOINT_URL_STS", sts.url);
    vi.stubEnv("AWS_ENDPOINT_URL_EC2", ec2.url);
    vi.stubEnv("AWS_ACCESS_KEY_ID", "test");
    vi.stubEnv("AWS_SECRET_ACCESS_KEY", "test");
    ec2.answer(buildEc2Answer({ DescribeInstances: "<reservationSet/>" }));
  });
  afterAll(async () => {
    await Promise.all([sts.close(), ec2.close()]);
    vi.unstubAllEnvs();
  });

  const ask = async (): Promise<string[]> => {
    const cloud = createAwsCloud(buildConfig(IDENTITY));
    const node = buildNode({ providerID: "i-01234567" });
    const first = await cloud.instances([node], buildCall());
    const second = await cloud.instances([node], buildCall());
    await cloud.close();
    return [first, second].flatMap(({ answers }) => answers.map(formatAnswer));
  };

  test("is called once, with the source in signed headers, and its credentials sign the next calls", async () => {
    sts.answer({ status: 200, body: assumed("2999-01-01T00:00:00Z") });
    const before = sts.counts.get("AssumeRole") ?? 0;
    expect(await ask()).toEqual(["not-found", "not-found"]);
    expect((sts.counts.get("AssumeRole") ?? 0) - before).toBe(1);
    const headers = sts.lastHeaders();
    expect(headers).toMatchObject({
      "x-amz-source-account": "210987654321",
      "x-amz-source-arn": IDENTITY.sourceArn,
    });
    expect(headers["authorization"]).toContain("x-amz-source-account;x-amz-source-arn");
    expect(sts.lastBody()).toContain("ExternalId=tenant");
    expect(ec2.lastHeaders()["authorization"]).toContain("Credential=ASIAASSUMED000000/");
    expect(ec2.lastHeaders()["x-amz-security-token"]).toBe("SESSION");
  });

  test.each([
    ["a refusal", buildStsErrorAnswer(403, "AccessDenied"), "Denied"],
    ["a throttle", buildStsErrorAnswer(400, "Throttling"), "Throttled"],
    ["a failure", buildStsErrorAnswer(500, "InternalFailure"), "Unavailable"],
    [
      "an answer without credentials",
      {
        status: 200,
        body: '<AssumeRoleResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleResult/></AssumeRoleResponse>',
      },
      "Unavailable",
    ],
  ])("%s of STS is an error of every node, and EC2 is not called", async (_, how, expected) => {
    sts.answer(how);
    const before = ec2.counts.get("DescribeInstances");
    expect(await ask()).toEqual([expected, expected]);
    expect(ec2.counts.get("DescribeInstances")).toBe(before);
  });
});

function assumed(expiration: string): string {
  return `<AssumeRoleResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleResult><Credentials><AccessKeyId>ASIAASSUMED000000</AccessKeyId><SecretAccessKey>SECRET</SecretAccessKey><SessionToken>SESSION</SessionToken><Expiration>${expiration}</Expiration></Credentials></AssumeRoleResult><ResponseMetadata><RequestId>1</RequestId></ResponseMetadata></AssumeRoleResponse>`;
}
