import { DescribeNetworkInterfacesCommand } from "@aws-sdk/client-ec2";
import { expect, test } from "vitest";
import type { ManagedInterfaceSpec } from "#emulators/ec2/instance-spec.ts";
import { getErrorName, startEmbeddedEc2 } from "./ec2-embedded.ts";

const FARGATE = {
  vpcId: "vpc-1",
  privateIpAddresses: ["192.168.7.7"],
  ipv6Addresses: ["2001:db8::7"],
} satisfies ManagedInterfaceSpec;

test("a service's interface is attached to no instance of the account", async () => {
  const { server, ec2 } = await startEmbeddedEc2();
  server.addNetworkInterface(FARGATE);
  const { NetworkInterfaces } = await ec2.send(
    new DescribeNetworkInterfacesCommand({
      Filters: [
        { Name: "attachment.status", Values: ["attached"] },
        { Name: "vpc-id", Values: ["vpc-1"] },
        { Name: "private-ip-address", Values: ["192.168.7.7"] },
      ],
    }),
  );
  expect(NetworkInterfaces).toMatchObject([
    {
      PrivateIpAddress: "192.168.7.7",
      PrivateDnsName: "ip-192-168-7-7.eu-central-1.compute.internal",
      Ipv6Addresses: [{ Ipv6Address: "2001:db8::7" }],
      RequesterManaged: true,
      Attachment: { Status: "attached" },
    },
  ]);
  expect(NetworkInterfaces?.[0]?.Attachment).not.toHaveProperty("InstanceId");
});

test.each([
  { name: "in another network", spec: { ...FARGATE, vpcId: "vpc-2" } },
  { name: "detached", spec: { ...FARGATE, attachmentStatus: "detached" } },
  { name: "free", spec: { ...FARGATE, status: "available" } },
  { name: "of another account", spec: { ...FARGATE, account: "210987654321" } },
] satisfies { name: string; spec: ManagedInterfaceSpec }[])(
  "an interface that is $name is not found",
  async ({ spec }) => {
    const { server, ec2 } = await startEmbeddedEc2();
    server.addNetworkInterface(spec);
    const { NetworkInterfaces } = await ec2.send(
      new DescribeNetworkInterfacesCommand({
        Filters: [
          { Name: "attachment.status", Values: ["attached"] },
          { Name: "vpc-id", Values: ["vpc-1"] },
        ],
      }),
    );
    expect(NetworkInterfaces).toEqual([]);
  },
);

test("an interface without a name has an empty one", async () => {
  const { server, ec2 } = await startEmbeddedEc2();
  server.addNetworkInterface({ ...FARGATE, privateDnsName: "" });
  const { NetworkInterfaces } = await ec2.send(new DescribeNetworkInterfacesCommand({}));
  expect(NetworkInterfaces?.[0]).not.toHaveProperty("PrivateDnsName");
});

test("the interfaces of a hidden instance are hidden too", async () => {
  const { server, ec2 } = await startEmbeddedEc2({ instances: [{}, {}] });
  server.hide("i-00000000000000001");
  const { NetworkInterfaces } = await ec2.send(new DescribeNetworkInterfacesCommand({}));
  expect(NetworkInterfaces?.map(({ Attachment }) => Attachment?.InstanceId)).toEqual(["i-00000000000000002"]);
});

test("rejects an unknown id, and finds a known one", async () => {
  const { server, ec2 } = await startEmbeddedEc2();
  const { id } = server.addNetworkInterface(FARGATE);
  const by = (...NetworkInterfaceIds: string[]) =>
    getErrorName(ec2.send(new DescribeNetworkInterfacesCommand({ NetworkInterfaceIds })));
  expect([await by(id), await by(id, "eni-0")]).toEqual(["none", "InvalidNetworkInterfaceID.NotFound"]);
});
