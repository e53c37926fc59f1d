import { expect, test } from "vitest";
import type { InstanceSpec } from "#emulators/ec2/instance-spec.ts";
import { describeIds, describeInstances, getErrorName, startEmbeddedEc2 } from "./ec2-embedded.ts";
import { createEc2Client } from "./ec2-under-test.ts";

interface Shown {
  readonly name: string;
  readonly spec: InstanceSpec;
  readonly shown: object;
}

test.each<Shown>([
  {
    name: "nothing in particular",
    spec: {},
    shown: {
      InstanceId: "i-00000000000000001",
      PrivateIpAddress: "10.0.0.1",
      PrivateDnsName: "ip-10-0-0-1.eu-central-1.compute.internal",
      PublicDnsName: "",
      InstanceType: "m7i.large",
      Placement: { AvailabilityZone: "eu-central-1b", AvailabilityZoneId: "euc1-az3" },
      State: { Code: 16, Name: "running" },
      NetworkInterfaces: [{ Status: "in-use", Attachment: { DeviceIndex: 0, Status: "attached" } }],
    },
  },
  {
    name: "an index",
    spec: { index: 0x01_02_03 },
    shown: { InstanceId: "i-00000000000010203", PrivateIpAddress: "10.1.2.3" },
  },
  {
    name: "an address",
    spec: { privateIpAddress: "172.16.3.4" },
    shown: {
      PrivateDnsName: "ip-172-16-3-4.eu-central-1.compute.internal",
      NetworkInterfaces: [{ PrivateIpAddress: "172.16.3.4" }],
    },
  },
  {
    name: "a public address",
    spec: { publicIpAddress: "198.51.100.7" },
    shown: {
      PublicIpAddress: "198.51.100.7",
      PublicDnsName: "ec2-198-51-100-7.eu-central-1.compute.amazonaws.com",
      NetworkInterfaces: [{ Association: { PublicIp: "198.51.100.7" } }],
    },
  },
  {
    name: "IPv6",
    spec: { ipv6Addresses: ["2001:db8::1"] },
    shown: { NetworkInterfaces: [{ Ipv6Addresses: [{ Ipv6Address: "2001:db8::1" }] }] },
  },
  {
    name: "a name of another form",
    spec: { privateDnsName: "i-00000000000000001.eu-central-1.compute.internal" },
    shown: { PrivateDnsName: "i-00000000000000001.eu-central-1.compute.internal" },
  },
  {
    name: "several interfaces in another order, one of them not in use",
    spec: {
      networkInterfaces: [
        { deviceIndex: 1, privateIpAddresses: ["10.9.0.3", "10.9.0.4"] },
        { deviceIndex: 0, privateIpAddresses: ["10.9.0.1"] },
        { deviceIndex: 2, status: "detaching", attachmentStatus: "detaching" },
      ],
    },
    shown: {
      PrivateIpAddress: "10.9.0.3",
      NetworkInterfaces: [
        {
          Attachment: { DeviceIndex: 1 },
          PrivateIpAddresses: [
            { Primary: true, PrivateIpAddress: "10.9.0.3" },
            { Primary: false, PrivateIpAddress: "10.9.0.4" },
          ],
        },
        { Attachment: { DeviceIndex: 0 }, PrivateIpAddress: "10.9.0.1" },
        { Status: "detaching", Attachment: { DeviceIndex: 2, Status: "detaching" } },
      ],
    },
  },
  {
    name: "tags that look like XML",
    spec: { tags: { "<a href='x'>": `]]> & "` } },
    shown: { Tags: [{ Key: "<a href='x'>", Value: `]]> & "` }] },
  },
  {
    name: "a state",
    spec: { state: "shutting-down" },
    shown: { State: { Code: 32, Name: "shutting-down" } },
  },
])("an instance with $name", async ({ spec, shown }) => {
  const { ec2 } = await startEmbeddedEc2({ instances: [spec] });
  const [instance] = await describeInstances(ec2);
  expect(instance).toMatchObject(shown);
});

test("names in us-east-1 have a separate domain", async () => {
  const { server } = await startEmbeddedEc2({ region: "us-east-1", instances: [] });
  expect(server.addInstance({ publicIpAddress: "198.51.100.7" })).toMatchObject({
    privateDnsName: "ip-10-0-0-1.ec2.internal",
    publicDnsName: "ec2-198-51-100-7.compute-1.amazonaws.com",
    availabilityZoneId: "use1-az3",
  });
});

test("an equal index gives an equal instance on another endpoint", async () => {
  const [one, other] = [await startEmbeddedEc2(), await startEmbeddedEc2()];
  const { launchedAt: _, ...first } = one.server.addInstance({ index: 77 });
  expect(other.server.addInstance({ index: 77 })).toMatchObject(first);
});

test("an index follows the changes of an instance", async () => {
  const { server, ec2 } = await startEmbeddedEc2({ instances: [{}, {}] });
  const byName = {
    Filters: [{ Name: "private-dns-name", Values: ["ip-10-0-0-1.eu-central-1.compute.internal"] }],
  };
  expect(await describeIds(ec2, byName)).toEqual(["i-00000000000000001"]);
  server.terminate("i-00000000000000001");
  expect(await describeIds(ec2, byName)).toEqual([]);
  server.addInstance({ privateIpAddress: "10.0.0.1" });
  expect(await describeIds(ec2, byName)).toEqual(["i-00000000000000003"]);
});

test("finds several instances of one name", async () => {
  const { ec2 } = await startEmbeddedEc2({
    instances: [{ vpcId: "vpc-1" }, { vpcId: "vpc-2", privateIpAddress: "10.0.0.1" }],
  });
  const byAddress = { Filters: [{ Name: "private-ip-address", Values: ["10.0.0.1"] }] };
  expect(await describeIds(ec2, byAddress)).toEqual(["i-00000000000000001", "i-00000000000000002"]);
});

test("a secondary address belongs to an interface, and not to the instance", async () => {
  const addresses = ["10.9.0.1", "10.9.0.2"];
  const { ec2 } = await startEmbeddedEc2({
    instances: [{ networkInterfaces: [{ privateIpAddresses: addresses }] }],
  });
  const by = (Name: string) => describeIds(ec2, { Filters: [{ Name, Values: ["10.9.0.2"] }] });
  expect(await by("network-interface.addresses.private-ip-address")).toEqual(["i-00000000000000001"]);
  expect(await by("private-ip-address")).toEqual([]);
});

test("finds instances by the minute of their launch, with a wildcard", async () => {
  const { ec2 } = await startEmbeddedEc2({ instances: [{}] });
  const { DescribeInstancesCommand } = await import("@aws-sdk/client-ec2");
  const { Reservations = [] } = await ec2.send(new DescribeInstancesCommand({}));
  const launched = Reservations[0]?.Instances?.[0]?.LaunchTime ?? new Date(0);
  const inMinute = (time: Date) =>
    describeIds(ec2, {
      Filters: [{ Name: "launch-time", Values: [`${time.toISOString().slice(0, 16)}:*`] }],
    });
  expect(await inMinute(launched)).toEqual(["i-00000000000000001"]);
  expect(await inMinute(new Date(launched.getTime() + 60_000))).toEqual([]);
});

test("a forgotten instance is not found, even by name", async () => {
  const { server, ec2 } = await startEmbeddedEc2({ instances: [{}] });
  const byAddress = { Filters: [{ Name: "private-ip-address", Values: ["10.0.0.1"] }] };
  expect(await describeIds(ec2, byAddress)).toHaveLength(1);
  server.remove("i-00000000000000001");
  expect(await describeIds(ec2, byAddress)).toEqual([]);
});

test("a forgotten instance does not exist any more", async () => {
  const { server, ec2 } = await startEmbeddedEc2({ instances: [{}] });
  server.terminate("i-00000000000000001");
  expect(await describeIds(ec2, { InstanceIds: ["i-00000000000000001"] })).toHaveLength(1);
  server.remove("i-00000000000000001");
  expect(await getErrorName(describeIds(ec2, { InstanceIds: ["i-00000000000000001"] }))).toBe(
    "InvalidInstanceID.NotFound",
  );
});

test.each([
  { name: "the end of an instance is taken back", write: "i-00000000000000001", message: /terminated/ },
  {
    name: "an instance is not there",
    write: "i-00000000000000009",
    message: /no instance i-00000000000000009/,
  },
])("rejects a write if $name", async ({ write, message }) => {
  const { server } = await startEmbeddedEc2({ instances: [{ state: "terminated" }] });
  expect(() => server.setState(write, "running")).toThrow(message);
});

test("rejects a duplicate id", async () => {
  const { server } = await startEmbeddedEc2({ instances: [{ index: 5 }] });
  expect(() => server.addInstance({ index: 5 })).toThrow(/already/);
  expect(server.addInstance().id).toBe("i-00000000000000006");
});

test("callers see only their account's instances", async () => {
  const other = "210987654321";
  const { server, ec2 } = await startEmbeddedEc2({
    accounts: { AKIAOTHER: other },
    instances: [{}, { account: other }],
  });
  const theirs = createEc2Client(server.url, { accessKeyId: "AKIAOTHER", secretAccessKey: "secret" });
  expect(await describeIds(ec2)).toEqual(["i-00000000000000001"]);
  expect(await describeIds(theirs)).toEqual(["i-00000000000000002"]);
  theirs.destroy();
});

test("without a page size the first page has a thousand instances", async () => {
  const { ec2 } = await startEmbeddedEc2({ instances: Array.from({ length: 1001 }, () => ({})) });
  expect(await describeIds(ec2)).toHaveLength(1000);
  expect(await describeIds(ec2, { Filters: [{ Name: "vpc-id", Values: ["vpc-0*"] }] })).toHaveLength(1000);
});

test("a page continues after the last one, despite changes in between", async () => {
  const { server, ec2 } = await startEmbeddedEc2({ instances: Array.from({ length: 8 }, () => ({})) });
  const { DescribeInstancesCommand } = await import("@aws-sdk/client-ec2");
  const { NextToken = "" } = await ec2.send(new DescribeInstancesCommand({ MaxResults: 5 }));
  server.remove("i-00000000000000002");
  server.addInstance();
  expect(await describeIds(ec2, { NextToken, MaxResults: 5 })).toEqual(
    [6, 7, 8, 9].map((index) => `i-0000000000000000${index}`),
  );
});

test("finds a thousand instances in ten calls of a hundred ids each", async () => {
  const { server, ec2 } = await startEmbeddedEc2();
  const ids = server.addInstances(Array.from({ length: 1000 }, () => ({}))).map(({ id }) => id);
  const batches = Array.from({ length: 10 }, (_, batch) => ids.slice(batch * 100, batch * 100 + 100));
  const found = await Promise.all(
    batches.map((Values) =>
      describeIds(ec2, { Filters: [{ Name: "instance-id", Values }], MaxResults: 1000 }),
    ),
  );
  expect(found).toEqual(batches);
  expect(server.record().map(({ asked, results, code }) => ({ asked, results, code }))).toEqual(
    batches.map(() => ({ asked: 100, results: 100, code: "OK" })),
  );
});
