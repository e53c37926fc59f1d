import { afterAll, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { AwsCloudConfig } from "#clouds/aws/config.ts";
import { diagnoseAws } from "#clouds/aws/diagnose.ts";
import type { Diagnosis } from "#clouds/diagnosis.ts";
import type { CheckResult } from "#core/check-result.ts";
import { DEFAULT_VPC_ID } from "#emulators/ec2/build-instance.ts";
import { type Ec2Server, startEc2 } from "#emulators/ec2/server.ts";

const LEGACY_VPC = "vpc-0abc0000000000001";
const THEIR_VPC = "vpc-0abc0000000000002";
const FULL_VPC = "vpc-0abc0000000000003";
const ROLE = "arn:aws:iam::210987654321:role/ccm";
let ec2: Ec2Server;

beforeAll(async () => {
  ec2 = await startEc2({ behaviour: { quotas: "off" } });
  for (const name of ["EC2", "STS"]) vi.stubEnv(`AWS_ENDPOINT_URL_${name}`, ec2.url);
  vi.stubEnv("AWS_ACCESS_KEY_ID", "test");
  vi.stubEnv("AWS_SECRET_ACCESS_KEY", "test");
  ec2.addInstances([
    { tags: { "kubernetes.io/cluster/tenant-a": "owned" } },
    {},
    { vpcId: LEGACY_VPC, tags: { KubernetesCluster: "tenant-c" } },
    { vpcId: THEIR_VPC, tags: { "kubernetes.io/cluster/tenant-d": "owned" } },
  ]);
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await ec2.close();
});
beforeEach(() => ec2.set({ denied: [] }));

const config = (more: object) => ({ provider: "aws", region: ec2.region, vpc: DEFAULT_VPC_ID, ...more });

test.each<[string, "credentials" | "network", object, readonly string[], CheckResult["outcome"], string]>([
  [
    "credentials",
    "credentials",
    {},
    [],
    "ok",
    "arn:aws:iam::123456789012:user/local of account 123456789012, in eu-central-1",
  ],
  [
    "credentials of a role",
    "credentials",
    { roleArn: ROLE },
    [],
    "ok",
    "assumed-role/ccm/serverless-ccm-tenant-a of account 210987654321, in eu-central-1; sessionPolicy compatible: see",
  ],
  [
    "credentials of a role with a strict session policy",
    "credentials",
    { roleArn: ROLE, sessionPolicy: "strict" },
    [],
    "ok",
    "in eu-central-1; sessionPolicy strict",
  ],
  [
    "a role that may not be assumed",
    "credentials",
    { roleArn: ROLE },
    ["AssumeRole"],
    "failed",
    "AccessDenied",
  ],
  [
    "instances that may not be seen",
    "credentials",
    {},
    ["DescribeInstances"],
    "failed",
    "UnauthorizedOperation",
  ],
  ["another region", "credentials", { region: "us-east-1" }, [], "failed", "AuthFailure"],
  ["a VPC with instances", "network", {}, [], "ok", `VPC ${DEFAULT_VPC_ID} in eu-central-1: 2 instances`],
  [
    "a tag",
    "network",
    { vpc: undefined, clusterTag: "tenant-a" },
    [],
    "ok",
    "tag kubernetes.io/cluster/tenant-a in eu-central-1: 1 instance",
  ],
  [
    "the legacy tag",
    "network",
    { vpc: undefined, clusterTag: "tenant-c" },
    [],
    "ok",
    "tag kubernetes.io/cluster/tenant-c in eu-central-1: 1 instance",
  ],
  [
    "another cluster's legacy tag",
    "network",
    { vpc: undefined, clusterTag: "tenant-b" },
    [],
    "warning",
    "tag kubernetes.io/cluster/tenant-b in eu-central-1: no instance",
  ],
  [
    "a VPC with only another cluster's instances",
    "network",
    { vpc: THEIR_VPC },
    ["DescribeVpcs"],
    "warning",
    `VPC ${THEIR_VPC} in eu-central-1: no instance`,
  ],
  ["a missing VPC", "network", { vpc: "vpc-0123" }, [], "failed", "there is no VPC vpc-0123 in eu-central-1"],
  ["an inaccessible VPC", "network", {}, ["DescribeVpcs"], "ok", "2 instances"],
  [
    "a VPC that cannot be read, without instances",
    "network",
    { vpc: "vpc-0123" },
    ["DescribeVpcs"],
    "warning",
    "no instance",
  ],
  [
    "a VPC without instances",
    "network",
    { clusterTag: "tenant-b" },
    [],
    "warning",
    "tag kubernetes.io/cluster/tenant-b in eu-central-1: no instance",
  ],
  ["a VPC of another account", "network", { roleArn: ROLE }, [], "warning", "no instance"],
  [
    "an inaccessible network",
    "network",
    {},
    ["DescribeVpcs", "DescribeInstances"],
    "failed",
    "UnauthorizedOperation",
  ],
])("%s", async (_, what, more, denied, outcome, message) => {
  ec2.set({ denied: [...denied] });
  const finding = await diagnosed(more, (diagnosis) => diagnosis[what](AbortSignal.timeout(120_000)));
  expect(finding).toMatchObject({ outcome, message: expect.stringContaining(message) });
  expect(finding.remedy === undefined).toBe(outcome === "ok");
});

test("says how much it has read if the network has more instances of other clusters than it reads", async () => {
  const theirs = { vpcId: FULL_VPC, tags: { "kubernetes.io/cluster/tenant-d": "owned" } };
  ec2.addInstances(Array.from({ length: 1_001 }, () => theirs));
  const finding = await diagnosed({ vpc: FULL_VPC }, ({ network }) => network(AbortSignal.timeout(120_000)));
  expect(finding).toMatchObject({
    outcome: "warning",
    message: `VPC ${FULL_VPC} in eu-central-1: no instance of this cluster in the first 10 pages`,
  });
});

test("the cloud's clock is read from its responses", async () => {
  const ahead = await diagnosed({}, (diagnosis) => diagnosis.clockAheadMs(AbortSignal.timeout(120_000)));
  expect(Math.abs(ahead ?? Number.NaN)).toBeLessThan(60_000);
});

async function diagnosed<Value>(more: object, ask: (diagnosis: Diagnosis) => Promise<Value>): Promise<Value> {
  const diagnosis = diagnoseAws(AwsCloudConfig.parse(config(more)), { clusterName: "tenant-a" });
  try {
    return await ask(diagnosis);
  } finally {
    diagnosis.close();
  }
}
