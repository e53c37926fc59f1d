import type {
  Instance as Ec2Instance,
  InstanceNetworkInterface,
  NetworkInterface,
} from "@aws-sdk/client-ec2";
import { expect, test } from "vitest";
import type { NodeIPFamily } from "#clouds/aws/config.ts";
import { buildInstanceAddresses, buildInterfaceAddresses } from "#clouds/aws/instance.ts";

const eni = (index: number | undefined, ipv4: string[], ipv6: string[] = []): InstanceNetworkInterface => ({
  Status: "in-use",
  ...(index === undefined ? {} : { Attachment: { DeviceIndex: index } }),
  PrivateIpAddresses: ipv4.map((PrivateIpAddress) => ({ PrivateIpAddress })),
  Ipv6Addresses: ipv6.map((Ipv6Address) => ({ Ipv6Address })),
});
const DNS = "ip-10-0-0-1.ec2.internal";

const rows: [string, Ec2Instance, NodeIPFamily[], string[]][] = [
  [
    "all kinds, in the stock controller's order",
    {
      NetworkInterfaces: [eni(0, ["10.0.0.1"])],
      PublicIpAddress: "203.0.113.1",
      PrivateDnsName: DNS,
      PublicDnsName: "ec2-203-0-113-1.compute.amazonaws.com",
    },
    ["ipv4"],
    [
      "InternalIP 10.0.0.1",
      "ExternalIP 203.0.113.1",
      `InternalDNS ${DNS}`,
      `Hostname ${DNS}`,
      "ExternalDNS ec2-203-0-113-1.compute.amazonaws.com",
    ],
  ],
  [
    "interfaces by device index, one without attachment last",
    {
      NetworkInterfaces: [
        eni(undefined, ["10.0.0.9"]),
        eni(2, ["10.0.0.3"]),
        eni(0, ["10.0.0.1"]),
        eni(1, ["10.0.0.2"]),
      ],
    },
    ["ipv4"],
    ["InternalIP 10.0.0.1", "InternalIP 10.0.0.2", "InternalIP 10.0.0.3", "InternalIP 10.0.0.9"],
  ],
  [
    "secondary addresses, in EC2's order",
    { NetworkInterfaces: [eni(0, ["10.0.0.1", "10.0.0.200", "10.0.0.100"])] },
    ["ipv4"],
    ["InternalIP 10.0.0.1", "InternalIP 10.0.0.200", "InternalIP 10.0.0.100"],
  ],
  [
    "an interface not in use is left out",
    { NetworkInterfaces: [{ ...eni(0, ["10.0.0.1"]), Status: "detaching" }, eni(1, ["10.0.0.2"])] },
    ["ipv4"],
    ["InternalIP 10.0.0.2"],
  ],
  ["the instance's own address is not used", { PrivateIpAddress: "10.0.0.1" }, ["ipv4"], []],
  ["empty names are left out", { PrivateDnsName: "", PublicDnsName: "", PublicIpAddress: "" }, ["ipv4"], []],
  [
    "leading zeros are dropped",
    { NetworkInterfaces: [eni(0, ["010.000.0.01"])] },
    ["ipv4"],
    ["InternalIP 10.0.0.1"],
  ],
  [
    "IPv6 alone: the first of each interface, no names, no external",
    {
      NetworkInterfaces: [
        eni(1, [], ["2001:db8::2"]),
        eni(0, ["10.0.0.1"], ["2001:db8::1", "2001:db8::100"]),
      ],
      PublicIpAddress: "203.0.113.1",
      PrivateDnsName: DNS,
    },
    ["ipv6"],
    ["InternalIP 2001:db8::1", "InternalIP 2001:db8::2"],
  ],
  [
    "both families, IPv4 first",
    { NetworkInterfaces: [eni(0, ["10.0.0.1"], ["2001:db8::1"])], PrivateDnsName: DNS },
    ["ipv4", "ipv6"],
    ["InternalIP 10.0.0.1", `InternalDNS ${DNS}`, `Hostname ${DNS}`, "InternalIP 2001:db8::1"],
  ],
  [
    "both families, IPv6 first",
    {
      NetworkInterfaces: [eni(1, [], ["2001:db8::2"]), eni(0, ["10.0.0.1"], ["2001:db8::1"])],
      PrivateDnsName: DNS,
    },
    ["ipv6", "ipv4"],
    [
      "InternalIP 2001:db8::1",
      "InternalIP 2001:db8::2",
      "InternalIP 10.0.0.1",
      `InternalDNS ${DNS}`,
      `Hostname ${DNS}`,
    ],
  ],
  [
    "IPv6 in one spelling",
    { NetworkInterfaces: [eni(0, [], ["2001:0DB8:0000:0000:0000:0000:0000:0001"])] },
    ["ipv6"],
    ["InternalIP 2001:db8::1"],
  ],
  ["an IPv4 instance asked for IPv6", { NetworkInterfaces: [eni(0, ["10.0.0.1"])] }, ["ipv6"], []],
];

test.each(rows)("addresses of an instance: %s", (_, instance, families, expected) => {
  const before = structuredClone(instance);
  expect(buildInstanceAddresses(instance, families).map(({ type, address }) => `${type} ${address}`)).toEqual(
    expected,
  );
  expect(instance).toEqual(before);
});

const fargate: NetworkInterface = {
  PrivateIpAddress: "10.0.0.9",
  PrivateDnsName: "ip-10-0-0-9.ec2.internal",
  Ipv6Addresses: [{ Ipv6Address: "2001:db8::9" }, { Ipv6Address: "2001:db8::10" }],
};

test.each<[string, NetworkInterface, NodeIPFamily[], string[]]>([
  ["IPv4", fargate, ["ipv4"], ["InternalIP 10.0.0.9", "InternalDNS ip-10-0-0-9.ec2.internal"]],
  ["IPv6", fargate, ["ipv6"], ["InternalIP 2001:db8::9", "InternalDNS ip-10-0-0-9.ec2.internal"]],
  [
    "both, the name once",
    fargate,
    ["ipv4", "ipv6"],
    ["InternalIP 10.0.0.9", "InternalIP 2001:db8::9", "InternalDNS ip-10-0-0-9.ec2.internal"],
  ],
  ["without a name", { PrivateIpAddress: "10.0.0.9" }, ["ipv4"], ["InternalIP 10.0.0.9"]],
])("addresses of a Fargate interface: %s", (_, each, families, expected) => {
  expect(buildInterfaceAddresses(each, families).map(({ type, address }) => `${type} ${address}`)).toEqual(
    expected,
  );
});

test.each(["10.0.0", "10.0.0.256", "fe80::1::2", "name"])("%s is not an address", (address) => {
  expect(() => buildInstanceAddresses({ NetworkInterfaces: [eni(0, [address])] }, ["ipv4"])).toThrow(
    RangeError,
  );
});
