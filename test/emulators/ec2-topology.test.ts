import { DescribeInstanceTopologyCommand } from "@aws-sdk/client-ec2";
import { expect, test } from "vitest";
import { expectViolations } from "#test/aws-models/aws-calls.ts";
import { getErrorName, startEmbeddedEc2 } from "./ec2-embedded.ts";

const QUOTAS_OFF = { behaviour: { quotas: "off" as const } };

test("only running instances of types with a topology have one", async () => {
  const { ec2 } = await startEmbeddedEc2({
    instances: [
      { instanceType: "m7i.large" },
      { instanceType: "p5.48xlarge", state: "stopped" },
      { instanceType: "trn1.32xlarge" },
      { instanceType: "m7i.large", networkNodes: ["nn-1", "nn-2", "nn-3"] },
    ],
  });
  const { Instances } = await ec2.send(new DescribeInstanceTopologyCommand({}));
  expect(Instances).toMatchObject([
    { InstanceId: "i-00000000000000003", InstanceType: "trn1.32xlarge", ZoneId: "euc1-az2" },
    { InstanceId: "i-00000000000000004", NetworkNodes: ["nn-1", "nn-2", "nn-3"] },
  ]);
});

test("close hosts share their nearest layers", async () => {
  const { ec2 } = await startEmbeddedEc2({
    instances: [8, 15, 16, 64].map((index) => ({ index, instanceType: "p5.48xlarge" })),
  });
  const { Instances } = await ec2.send(new DescribeInstanceTopologyCommand({}));
  const [eight, fifteen, sixteen, sixtyFour] = (Instances ?? []).map(
    ({ NetworkNodes }) => NetworkNodes ?? [],
  );
  expect(fifteen).toEqual(eight);
  expect(sixteen?.slice(0, 2)).toEqual(eight?.slice(0, 2));
  expect(sixteen?.[2]).not.toBe(eight?.[2]);
  expect(sixtyFour?.[0]).toBe(eight?.[0]);
  expect(sixtyFour?.[1]).not.toBe(eight?.[1]);
});

test.each([
  {
    name: "101 ids",
    input: { InstanceIds: Array(101).fill("i-00000000000000001") },
    code: "InvalidParameterValue",
  },
  {
    name: "a page of 101",
    input: { MaxResults: 101 },
    code: "InvalidParameterValue",
    violation: "ec2:DescribeInstanceTopology request MaxResults range",
  },
  {
    name: "ids in pages",
    input: { InstanceIds: ["i-00000000000000001"], MaxResults: 5 },
    code: "InvalidParameterCombination",
  },
  {
    name: "an id that there is not",
    input: { InstanceIds: ["i-00000000000000009"] },
    code: "InvalidInstanceID.NotFound",
  },
  { name: "100 ids", input: { InstanceIds: Array(100).fill("i-00000000000000001") }, code: "none" },
])("a request for $name is answered with $code", async ({ input, code, violation }) => {
  if (violation !== undefined) expectViolations(violation);
  const { ec2 } = await startEmbeddedEc2({ ...QUOTAS_OFF, instances: [{}] });
  expect(await getErrorName(ec2.send(new DescribeInstanceTopologyCommand(input)))).toBe(code);
});

test("a page without ids has twenty instances", async () => {
  const instances = Array.from({ length: 25 }, () => ({ instanceType: "hpc7g.16xlarge" }));
  const { ec2 } = await startEmbeddedEc2({ ...QUOTAS_OFF, instances });
  const first = await ec2.send(new DescribeInstanceTopologyCommand({}));
  const second = await ec2.send(new DescribeInstanceTopologyCommand({ NextToken: first.NextToken ?? "" }));
  expect([first.Instances?.length, second.Instances?.length, second.NextToken]).toEqual([20, 5, undefined]);
});
