import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { createAwsCloud } from "#clouds/aws/cloud.ts";
import { createClusterCredentials, shareCredentials } from "#clouds/aws/cluster-credentials.ts";
import { AwsCloudConfig } from "#clouds/aws/config.ts";
import { buildSessionPolicy } from "#clouds/aws/session-policy.ts";
import { SESSION_PURPOSES, type SessionPurpose } from "#clouds/aws/session-purpose.ts";
import type { LoadCloudOptions } from "#clouds/provider.ts";
import type { CredentialSource } from "#platforms/aws/role-credentials.ts";
import { buildEc2Answer, buildStsErrorAnswer, type Gate, openGate } from "#test/clouds/aws/gate.ts";
import { buildCall, buildNode } from "#test/clouds/builders.ts";

const OWN = "arn:aws:iam::210987654321:role/tenants/{function}/ccm";
const SESSION = "arn:aws:iam::123456789012:role/serverless-ccm-prod-route-session";

let sts: Gate;
let ec2: Gate;
beforeAll(async () => {
  sts = await openGate();
  ec2 = await openGate();
  vi.stubEnv("AWS_ENDPOINT_URL_STS", sts.url);
  vi.stubEnv("AWS_ENDPOINT_URL_EC2", ec2.url);
  vi.stubEnv("AWS_ACCESS_KEY_ID", "test");
  vi.stubEnv("AWS_SECRET_ACCESS_KEY", "test");
  ec2.answer(
    buildEc2Answer({
      DescribeInstances: "<reservationSet/>",
      DescribeRouteTables: "<routeTableSet/>",
      ModifyInstanceAttribute: "<return>true</return>",
    }),
  );
});
beforeEach(() => sts.answer({ status: 200, body: ASSUMED }));
afterAll(async () => {
  await Promise.all([sts.close(), ec2.close()]);
  vi.unstubAllEnvs();
});

const aConfig = (more: object): AwsCloudConfig =>
  AwsCloudConfig.parse({ provider: "aws", region: "eu-central-1", clusterTag: "prod", ...more });

/**
 * Returns the AssumeRole request that a cloud sent while it looked for one instance; undefined without a
 * request.
 */
async function assumed(more: object, options: LoadCloudOptions): Promise<URLSearchParams | undefined> {
  const before = sts.counts.get("AssumeRole") ?? 0;
  const cloud = createAwsCloud(aConfig(more), { clusterName: "prod", ...options });
  await cloud.instances([buildNode({ providerID: "i-01234567" })], buildCall());
  await cloud.close();
  const count = (sts.counts.get("AssumeRole") ?? 0) - before;
  expect(count).toBeLessThanOrEqual(1);
  return count === 0 ? undefined : new URLSearchParams(sts.lastBody());
}

const PURPOSES: readonly (readonly [functionName: string, purpose: SessionPurpose])[] = [
  ["node", "node"],
  ["node-lifecycle", "node-lifecycle"],
  ["csr", "csr"],
  ["service", "load-balancers"],
  ["route", "routes"],
  ["tagging", "tags"],
  ["ec2-events", "ec2-events"],
];

test.each(PURPOSES)(
  "the function %s assumes its own role of the cluster, with the policy for %s in this cluster",
  async (functionName, purpose) => {
    const asked = await assumed({ roleArn: OWN, externalId: "tenant" }, { functionName });
    expect(asked?.get("RoleArn")).toBe(`arn:aws:iam::210987654321:role/tenants/${functionName}/ccm`);
    expect(asked?.get("ExternalId")).toBe("tenant");
    expect(asked?.get("Policy")).toBe(buildSessionPolicy({ ...aConfig({}), clusterName: "prod" }, purpose));
  },
);

test("every purpose is that of one function, except doctor's", () => {
  const known = PURPOSES.map(([, purpose]) => purpose);
  expect([...known, "doctor"].toSorted()).toEqual(SESSION_PURPOSES.toSorted());
});

test("a process in which all controllers run assumes the role of nodes for instances", async () => {
  const asked = await assumed({ roleArn: OWN }, {});
  expect(asked?.get("RoleArn")).toBe("arn:aws:iam::210987654321:role/tenants/node/ccm");
});

test("a process in which all controllers run assumes the role of the function route for routes", async () => {
  const cloud = createAwsCloud(aConfig({ roleArn: OWN }), { clusterName: "prod" });
  const question = { nodes: [], networks: ["10.0.0.0/16"], clusterCIDRs: ["10.0.0.0/16"] };
  await cloud.capabilities?.["routes"]?.observe([question], buildCall());
  await cloud.close();
  const asked = new URLSearchParams(sts.lastBody());
  expect(asked.get("RoleArn")).toBe("arn:aws:iam::210987654321:role/tenants/route/ccm");
  expect(asked.get("Policy")).toBe(buildSessionPolicy({ ...aConfig({}), clusterName: "prod" }, "routes"));
});

test.each([
  [undefined, "node"],
  ["service", "service"],
])("doctor for the function %s assumes the role of %s and may only describe", async (functionName, role) => {
  const cluster = { ...aConfig({ roleArn: OWN }), clusterName: "prod" };
  const source = createClusterCredentials(
    cluster,
    { name: "prod", purpose: "doctor", functionName },
    Date.now,
  );
  await source?.();
  const asked = new URLSearchParams(sts.lastBody());
  expect(asked.get("RoleArn")).toBe(`arn:aws:iam::210987654321:role/tenants/${role}/ccm`);
  expect(JSON.parse(asked.get("Policy") ?? "").Statement).toEqual([
    { Effect: "Allow", Action: ["ec2:Describe*", "elasticloadbalancing:Describe*"], Resource: "*" },
  ]);
});

test.each<[string, object, string | null | undefined, string | null | undefined]>([
  ["neither role nor credentials", {}, SESSION, '"Action"'],
  ["an external id and no role", { externalId: "tenant" }, SESSION, '"Action"'],
  ["no role, and the policy switched off", { sessionPolicy: "none" }, undefined, undefined],
  [
    "a role, and the policy switched off",
    { sessionPolicy: "none", roleArn: "arn:aws:iam::210987654321:role/ccm" },
    "arn:aws:iam::210987654321:role/ccm",
    null,
  ],
])("in a deployment with a session role, a cluster with %s", async (_, more, roleArn, policy) => {
  const asked = await assumed(more, { functionName: "route", sessionRoleArn: SESSION });
  expect(asked?.get("RoleArn")).toBe(roleArn);
  if (typeof policy === "string") expect(asked?.get("Policy")).toContain(policy);
  else expect(asked?.get("Policy")).toBe(policy);
  if (roleArn === SESSION) expect(asked?.get("ExternalId")).toBeNull();
});

test("a cluster with configured access keys uses them, with or without a session role", async () => {
  const file = join(await mkdtemp(join(tmpdir(), "keys-")), "keys.json");
  await writeFile(file, JSON.stringify({ AccessKeyId: "KEPT", SecretAccessKey: "s" }));
  const asked = await assumed({ credentials: { file } }, { functionName: "route", sessionRoleArn: SESSION });
  expect(asked).toBeUndefined();
  expect(ec2.lastHeaders()["authorization"]).toContain("Credential=KEPT/");
});

test("routes and instances of a function share one session", async () => {
  const before = sts.counts.get("AssumeRole") ?? 0;
  const cloud = createAwsCloud(aConfig({}), {
    clusterName: "prod",
    functionName: "route",
    sessionRoleArn: SESSION,
  });
  const routes = cloud.capabilities?.["routes"];
  const question = { nodes: [], networks: ["10.0.0.0/16"], clusterCIDRs: ["10.0.0.0/16"] };
  await cloud.instances([buildNode({ providerID: "i-01234567" })], buildCall());
  await routes?.observe([question], buildCall());
  await routes?.act(
    {
      on: "cloud",
      capability: "routes",
      action: "forward",
      target: "i-1",
      precondition: { uid: "u", deleting: false },
      parameters: { target: { instance: "i-1" } },
    },
    buildCall(),
  );
  await cloud.close();
  expect(ec2.counts.get("ModifyInstanceAttribute")).toBe(1);
  expect((sts.counts.get("AssumeRole") ?? 0) - before).toBe(1);
});

test.each([
  ["AccessDenied", 403, "its trust policy has to name the role that calls"],
  ["PackedPolicyTooLarge", 400, "shorten routeTableIDs, allow.nodeSecurityGroups or clusterTag"],
  ["MalformedPolicyDocument", 400, "AWS does not take the session policy"],
  ["RegionDisabledException", 403, "the region is not enabled for STS"],
])("%s of AssumeRole names the role and what to do", async (code, status, remedy) => {
  sts.answer(buildStsErrorAnswer(status, code));
  const cloud = createAwsCloud(aConfig({ roleArn: OWN }), { clusterName: "prod", functionName: "csr" });
  const { answers } = await cloud.instances([buildNode({ providerID: "i-01234567" })], buildCall());
  await cloud.close();
  expect(answers).toMatchObject([{ kind: "error", message: expect.stringContaining(remedy) }]);
  expect(JSON.stringify(answers)).toContain("AssumeRole arn:aws:iam::210987654321:role/tenants/csr/ccm");
});

test("a policy that AWS would reject is not sent, and no session without it is used", async () => {
  const before = sts.counts.get("AssumeRole");
  const config = { ...aConfig({ roleArn: OWN }), clusterTag: undefined };
  const cloud = createAwsCloud(config, { clusterName: "x".repeat(2_000), functionName: "service" });
  const { answers } = await cloud.instances([buildNode({ providerID: "i-01234567" })], buildCall());
  await cloud.close();
  expect(answers).toMatchObject([
    { kind: "error", message: expect.stringContaining("give the cluster a shorter clusterTag") },
  ]);
  expect(sts.counts.get("AssumeRole")).toBe(before);
});

describe("configuration", () => {
  test.each<[string, object, string]>([
    ["braces with another word", { roleArn: "arn:aws:iam::1:role/{cluster}" }, "roleArn: "],
    ["an account in braces", { roleArn: "arn:aws:iam::{function}:role/ccm" }, "roleArn: "],
    ["an unknown mode", { sessionPolicy: "off" }, "sessionPolicy: strict, compatible or none"],
    [
      "an external id that STS rejects",
      { externalId: "tenant a" },
      "externalId: 2 to 1224 letters, digits or ",
    ],
    ["a cluster tag that makes no tag's key", { clusterTag: "x".repeat(107) }, "clusterTag: 1 to 106 "],
    [
      "more route tables than a policy can list",
      { routeTableIDs: Array.from({ length: 40 }, (_, index) => `rtb-${100_000 + index}`) },
      "sessionPolicy: the session policy of route has ",
    ],
  ])("rejects %s", (_, more, message) => {
    const config = { provider: "aws", region: "eu-central-1", clusterTag: "prod", ...more };
    const { issues = [] } = AwsCloudConfig.safeParse(config).error ?? {};
    expect(issues.map(({ path, message: text }) => `${path.join(".")}: ${text}`).join()).toContain(message);
  });

  test("takes as many route tables as clusters have", () => {
    const routeTableIDs = Array.from({ length: 8 }, (_, index) => `rtb-0123456789abcde${10 + index}`);
    expect(aConfig({ routeTableIDs }).sessionPolicy).toBe("compatible");
  });
});

describe("shared credentials", () => {
  const make = (): CredentialSource => async () => {
    throw new Error("unexpected call");
  };

  test("are shared by all, and one renewal serves all", () => {
    const factory = shareCredentials(vi.fn(make));
    const [one, other, late] = [factory(), factory(), factory()];
    const first = one();
    expect(other()).toBe(first);
    const second = one();
    expect(second).not.toBe(first);
    expect(other()).toBe(second);
    expect(late()).toBe(second);
    expect(other()).not.toBe(second);
  });
});

const ASSUMED = `<AssumeRoleResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleResult><Credentials><AccessKeyId>ASIAASSUMED000000</AccessKeyId><SecretAccessKey>SECRET</SecretAccessKey><SessionToken>SESSION</SessionToken><Expiration>2999-01-01T00:00:00Z</Expiration></Credentials></AssumeRoleResult><ResponseMetadata><RequestId>1</RequestId></ResponseMetadata></AssumeRoleResponse>`;
