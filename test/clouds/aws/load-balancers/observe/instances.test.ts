import { expect, test } from "vitest";
import { AwsCloudConfig } from "#clouds/aws/config.ts";
import { readTargetInstances } from "#clouds/aws/load-balancers/observe/instances.ts";
import type { Reader } from "#clouds/aws/load-balancers/observe/reads.ts";
import { ok } from "#clouds/outcome.ts";

const OURS = [{ Key: "kubernetes.io/cluster/prod", Value: "owned" }];
const THEIRS = [{ Key: "kubernetes.io/cluster/foreign", Value: "owned" }];
const CLUSTER = AwsCloudConfig.parse({
  provider: "aws",
  region: "eu-central-1",
  vpc: "vpc-1",
  clusterTag: "prod",
});

/** Returns the kinds of the instance `i-1` that AWS shows so. */
async function readOne(shown: Readonly<Record<string, unknown>> | undefined) {
  const Instances = shown === undefined ? [] : [{ InstanceId: "i-1", ...shown }];
  const read = (async () => ok({ Reservations: [{ Instances }] })) as unknown as Reader;
  const found = await readTargetInstances(["i-1"], CLUSTER, read);
  if (found.kind === "fault") throw new Error(found.fault.code);
  const { instances, excludedInstanceIds: excluded } = found.value;
  return { owned: Object.keys(instances), excluded };
}

test.each([
  ["is the cluster's", { VpcId: "vpc-1", Tags: OURS }, { owned: ["i-1"], excluded: [] }],
  [
    "is terminated, with the cluster's tag",
    { Tags: OURS, State: { Name: "terminated" } },
    { owned: ["i-1"], excluded: [] },
  ],
  ["is not shown", undefined, { owned: [], excluded: [] }],
  ["has lost its tag", { VpcId: "vpc-1" }, { owned: [], excluded: [] }],
  ["has another cluster's tag", { VpcId: "vpc-1", Tags: THEIRS }, { owned: [], excluded: ["i-1"] }],
  ["is in another VPC", { VpcId: "vpc-2", Tags: OURS }, { owned: [], excluded: ["i-1"] }],
  ["is terminated, without an owner", { State: { Name: "terminated" } }, { owned: [], excluded: ["i-1"] }],
])(
  "excludes an instance only if AWS shows that it has ended or has another owner: %s",
  async (_, shown, kinds) => {
    expect(await readOne(shown)).toEqual(kinds);
  },
);
