import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { keepForFunctions } from "#cli/run/function-resources.ts";
import { Cluster } from "#config/cluster.ts";
import { startEc2 } from "#emulators/ec2/server.ts";
import { VPC } from "#test/clouds/aws/ec2-world.ts";
import { buildCall, buildNode } from "#test/clouds/builders.ts";
import { formatAnswer } from "#test/clouds/conformance.ts";

const CLUSTERS = 20;
const ROLE = "arn:aws:iam::210987654321:role/ccm-{function}";

beforeAll(() => {
  vi.stubEnv("AWS_ACCESS_KEY_ID", "test");
  vi.stubEnv("AWS_SECRET_ACCESS_KEY", "test");
});
afterAll(() => void vi.unstubAllEnvs());

test("clusters of one role in one process look for their instances with one call and in one session", async () => {
  const ec2 = await startEc2({ account: "210987654321" });
  vi.stubEnv("AWS_ENDPOINT_URL_EC2", ec2.url);
  vi.stubEnv("AWS_ENDPOINT_URL_STS", ec2.url);
  const resources = keepForFunctions(() => Promise.reject(new Error("no API server is needed")));
  const machines = Array.from({ length: CLUSTERS }, (_, index) => {
    const name = `tenant-${index}`;
    const { id } = ec2.addInstance({ vpcId: VPC, tags: { [`kubernetes.io/cluster/${name}`]: "owned" } });
    const cloud = { provider: "aws", region: "eu-central-1", vpc: VPC, clusterTag: name, roleArn: ROLE };
    return { id, cluster: Cluster.parse({ name, server: "https://127.0.0.1", cloud }) };
  });
  // An initialized node needs no label, and so no other call.
  const ask = async ({ id, cluster }: (typeof machines)[number]) => {
    const cloud = await resources.cloud(cluster);
    const node = buildNode({ providerID: id, taints: [] });
    return (await cloud.instances([node], buildCall())).answers.map(formatAnswer);
  };
  expect(await Promise.all(machines.map(ask))).toEqual(machines.map(({ id }) => [id]));
  expect(ec2.record().map(({ action, roleArn }) => [action, roleArn])).toEqual([
    ["AssumeRole", undefined],
    ["DescribeInstances", "arn:aws:iam::210987654321:role/ccm-node"],
  ]);
  expect(ec2.assumedRoles()).toHaveLength(1);

  const [first, second] = machines;
  await resources.forget(first?.cluster.name ?? "");
  expect(second && (await ask(second))).toEqual([second?.id]);
  await resources.close();
  await ec2.close();
});
