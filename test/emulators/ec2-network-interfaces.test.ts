import { DescribeNetworkInterfacesCommand } from "@aws-sdk/client-ec2";
import { expect, test } from "vitest";
import { getErrorName, startEmbeddedEc2 } from "./ec2-embedded.ts";

test("the interfaces of a hidden instance are hidden too", async () => {
  const { server, ec2 } = await startEmbeddedEc2({ instances: [{}, {}] });
  server.hide("i-00000000000000001");
  const { NetworkInterfaces } = await ec2.send(new DescribeNetworkInterfacesCommand({}));
  expect(NetworkInterfaces?.map(({ Attachment }) => Attachment?.InstanceId)).toEqual(["i-00000000000000002"]);
});

test("rejects an unknown id, and finds a known one", async () => {
  const { server, ec2 } = await startEmbeddedEc2();
  const [{ id } = { id: "" }] = server.addInstance({}).networkInterfaces;
  const by = (...NetworkInterfaceIds: string[]) =>
    getErrorName(ec2.send(new DescribeNetworkInterfacesCommand({ NetworkInterfaceIds })));
  expect([await by(id), await by(id, "eni-0")]).toEqual(["none", "InvalidNetworkInterfaceID.NotFound"]);
});
