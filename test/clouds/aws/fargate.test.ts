import type { NetworkInterface } from "@aws-sdk/client-ec2";
import { expect, test } from "vitest";
import type { AwsCloudConfig } from "#clouds/aws/config.ts";
import { Ec2World, VPC } from "#test/clouds/aws/ec2-world.ts";
import { buildCall, buildNode } from "#test/clouds/builders.ts";
import { formatAnswer } from "#test/clouds/conformance.ts";

const THEIRS = { TagSet: [{ Key: "kubernetes.io/cluster/theirs", Value: "owned" }] };
const OURS = { TagSet: [{ Key: "kubernetes.io/cluster/demo", Value: "owned" }] };
const providerID = "aws:///eu-central-1a/abc-def/fargate-ip-10-0-0-9.eu-central-1.compute.internal";

function anInterface(traits: Partial<NetworkInterface> = {}): NetworkInterface {
  return {
    NetworkInterfaceId: "eni-1",
    OwnerId: "123456789012",
    VpcId: VPC,
    AvailabilityZone: "eu-central-1a",
    PrivateIpAddress: "10.0.0.9",
    PrivateDnsName: "ip-10-0-0-9.eu-central-1.compute.internal",
    Attachment: { Status: "attached" },
    ...traits,
  };
}

test.each<[string, readonly NetworkInterface[], Partial<AwsCloudConfig>, string]>([
  ["an attached interface", [anInterface()], {}, "eni-1"],
  ["no interface", [], {}, "not-found"],
  ["an interface that is detaching", [anInterface({ Attachment: { Status: "detaching" } })], {}, "not-found"],
  [
    "two interfaces with the address",
    [anInterface(), anInterface({ NetworkInterfaceId: "eni-2" })],
    {},
    "Ambiguous",
  ],
  ["an interface in another VPC", [anInterface({ VpcId: "vpc-2" })], {}, "not-found"],
  ["an untagged interface, without a configured VPC", [anInterface()], { vpc: undefined }, "Foreign"],
  ["a tagged interface, without a configured VPC", [anInterface(OURS)], { vpc: undefined }, "eni-1"],
  ["an interface with another cluster's tag", [anInterface(THEIRS)], {}, "Foreign"],
  [
    "an interface with another cluster's tag, with only a VPC configured",
    [anInterface(THEIRS)],
    { clusterTag: undefined },
    "Foreign",
  ],
  [
    "an interface with the cluster's tag, with only a VPC configured",
    [anInterface(OURS)],
    { clusterTag: undefined },
    "eni-1",
  ],
  [
    "another cluster's interface with the same address",
    [anInterface(THEIRS), anInterface({ NetworkInterfaceId: "eni-2" })],
    {},
    "eni-2",
  ],
  ["an interface without a zone", [anInterface({ AvailabilityZone: "" })], {}, "Unavailable"],
])("%s", async (_, interfaces, config, expected) => {
  const world = new Ec2World();
  world.interfaces.push(...interfaces);
  const { answers } = await world.cloud(config).instances([buildNode({ providerID })], buildCall());
  expect(answers.map(formatAnswer)).toEqual([expected]);
});

test("a Fargate node runs, has no type, and keeps its provider ID", async () => {
  const world = new Ec2World();
  world.interfaces.push(anInterface());
  const { answers } = await world.cloud().instances([buildNode({ providerID })], buildCall());
  expect(answers).toMatchObject([
    {
      kind: "found",
      instance: {
        account: "123456789012",
        network: VPC,
        state: "running",
        providerID,
        type: "",
        zone: "eu-central-1a",
        addresses: [
          { type: "InternalIP", address: "10.0.0.9" },
          { type: "InternalDNS", address: "ip-10-0-0-9.eu-central-1.compute.internal" },
        ],
      },
    },
  ]);
});

test("100 Fargate nodes take one request", async () => {
  const world = new Ec2World();
  const nodes = Array.from({ length: 100 }, (_, index) => {
    world.interfaces.push(
      anInterface({ NetworkInterfaceId: `eni-${index}`, PrivateIpAddress: `10.0.1.${index}` }),
    );
    return buildNode({ providerID: `aws:///a/x/fargate-10.0.1.${index}` });
  });
  const { answers } = await world.cloud().instances(nodes, buildCall());
  expect(answers.map(formatAnswer)).toEqual(nodes.map((_, index) => `eni-${index}`));
  expect(world.count("DescribeNetworkInterfaces")).toBe(1);
});
