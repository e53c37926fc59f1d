import type { Instance as Ec2Instance } from "@aws-sdk/client-ec2";
import { describe, expect, test } from "vitest";
import type { AwsCloudConfig } from "#clouds/aws/config.ts";
import { expectViolations } from "#test/aws-models/aws-calls.ts";
import { buildInstance, Ec2World } from "#test/clouds/aws/ec2-world.ts";
import { buildCall, buildNode, type NodeTraits } from "#test/clouds/builders.ts";
import { formatAnswer } from "#test/clouds/conformance.ts";

const ID = "i-00000000000000001";
const TWIN = "i-00000000000000002";
const NAME = "ip-10-0-0-1.eu-central-1.compute.internal";
const THEIRS = { Tags: [{ Key: "kubernetes.io/cluster/theirs", Value: "owned" }] };
const internalIP = (address: string): NodeTraits => ({
  name: "web-1",
  addresses: [{ type: "InternalIP", address }],
});

async function answersOf(
  instances: readonly Ec2Instance[],
  nodes: readonly NodeTraits[],
  config: Partial<AwsCloudConfig> = {},
) {
  const world = new Ec2World();
  world.instances.push(...instances);
  const { answers } = await world.cloud(config).instances(nodes.map(buildNode), buildCall());
  return { world, answers };
}

describe("the instance of one node", () => {
  const ipv6 = buildInstance(1, {
    NetworkInterfaces: [{ Status: "in-use", Ipv6Addresses: [{ Ipv6Address: "2001:db8::1" }] }],
  });
  test.each<[string, NodeTraits, readonly Ec2Instance[], Partial<AwsCloudConfig>, string]>([
    ["by provider ID", { providerID: `aws:///x/${ID}` }, [buildInstance(1)], {}, ID],
    ["by an instance ID as name", { name: ID }, [buildInstance(1)], {}, ID],
    ["by an instance ID and a domain as name", { name: `${ID}.ec2.internal` }, [buildInstance(1)], {}, ID],
    ["by private DNS name", { name: NAME }, [buildInstance(1)], {}, ID],
    ["by a short host name", { name: "ip-10-0-0-1" }, [buildInstance(1)], {}, ID],
    [
      "by its first label under another domain",
      { name: "ip-10-0-0-1.corp.example" },
      [buildInstance(1)],
      {},
      ID,
    ],
    [
      "by its first label if node and instance have different domains",
      { name: "ip-10-0-0-1.a" },
      [buildInstance(1, { PrivateDnsName: "ip-10-0-0-1.b" })],
      {},
      ID,
    ],
    [
      "by its whole name rather than its first label",
      { name: NAME },
      [buildInstance(2, { PrivateDnsName: "ip-10-0-0-1.b" }), buildInstance(1)],
      {},
      ID,
    ],
    [
      "by its first label if the instance with EC2's own name belongs to another cluster",
      { name: "ip-10-0-0-1.corp.example" },
      [
        buildInstance(1, { VpcId: "vpc-2", ...THEIRS }),
        buildInstance(2, { PrivateDnsName: "ip-10-0-0-1.b" }),
      ],
      { vpc: undefined },
      TWIN,
    ],
    [
      "is Foreign if only another cluster's instance has EC2's own name",
      { name: "ip-10-0-0-1.corp.example" },
      [buildInstance(1, THEIRS)],
      {},
      "Foreign",
    ],
    ["by name if the provider ID is empty", { name: NAME, providerID: "" }, [buildInstance(1)], {}, ID],
    ["not by address by default", internalIP("10.0.0.1"), [buildInstance(1)], {}, "not-found"],
    ["by address if configured", internalIP("10.0.0.1"), [buildInstance(1)], { matchByNodeIP: true }, ID],
    [
      "by IPv6 address",
      internalIP("2001:db8::1"),
      [ipv6],
      { matchByNodeIP: true, nodeIPFamilies: ["ipv6"] },
      ID,
    ],
    [
      "not by an address with a wildcard",
      internalIP("10.0.0.*"),
      [buildInstance(1)],
      { matchByNodeIP: true },
      "not-found",
    ],
    ["not by a name with a wildcard", { name: "ip-10-0-0-*" }, [buildInstance(1)], {}, "not-found"],
    [
      "not by a name with a wildcard for one character",
      { name: "ip-10-0-0-?" },
      [buildInstance(1)],
      {},
      "not-found",
    ],
    ["not by a name that is a wildcard", { name: "*" }, [buildInstance(1)], {}, "not-found"],
    [
      "not by a name with an escaped character",
      { name: "ip-10-0-0-\\1" },
      [buildInstance(1)],
      {},
      "not-found",
    ],
    [
      "not by a label with the same prefix",
      { name: "ip-10-0-0-1" },
      [buildInstance(10), buildInstance(11)],
      {},
      "not-found",
    ],
    [
      "is ambiguous if two have the name",
      { name: NAME },
      [buildInstance(1), buildInstance(2, { PrivateDnsName: NAME })],
      {},
      "Ambiguous",
    ],
    [
      "is ambiguous if two have the first label",
      { name: "ip-10-0-0-1" },
      [
        buildInstance(1, { PrivateDnsName: "ip-10-0-0-1.a" }),
        buildInstance(2, { PrivateDnsName: "ip-10-0-0-1.b" }),
      ],
      {},
      "Ambiguous",
    ],
    [
      "by its first label under EC2's own domain rather than another",
      { name: "ip-10-0-0-1" },
      [buildInstance(2, { PrivateDnsName: "ip-10-0-0-1.b" }), buildInstance(1)],
      {},
      ID,
    ],
    [
      "by name if only one with the name is the cluster's",
      { name: NAME },
      [buildInstance(2, { PrivateDnsName: NAME, ...THEIRS }), buildInstance(1)],
      {},
      ID,
    ],
    ["is Foreign by name", { name: NAME }, [buildInstance(1, THEIRS)], {}, "Foreign"],
    ["is Foreign by ID", { providerID: ID }, [buildInstance(1, THEIRS)], {}, "Foreign"],
    [
      "is Foreign by ID, with only a VPC configured",
      { providerID: ID },
      [buildInstance(1, THEIRS)],
      { clusterTag: undefined },
      "Foreign",
    ],
    [
      "is Foreign by name, with only a VPC configured",
      { name: NAME },
      [buildInstance(1, THEIRS)],
      { clusterTag: undefined },
      "Foreign",
    ],
    [
      "by name, with only a VPC configured and the cluster's tag",
      { name: NAME },
      [buildInstance(1)],
      { clusterTag: undefined },
      ID,
    ],
    [
      "by name, with only a VPC configured and no tag",
      { name: NAME },
      [buildInstance(1, { Tags: [] })],
      { clusterTag: undefined },
      ID,
    ],
    [
      "is Foreign by ID in another VPC",
      { providerID: ID },
      [buildInstance(1, { VpcId: "vpc-2" })],
      {},
      "Foreign",
    ],
    [
      "is not found by name in another VPC",
      { name: NAME },
      [buildInstance(1, { VpcId: "vpc-2" })],
      {},
      "not-found",
    ],
    [
      "by name in any VPC, with only a tag configured",
      { name: NAME },
      [buildInstance(1, { VpcId: "vpc-2" })],
      { vpc: undefined },
      ID,
    ],
    [
      "by ID if it is terminated",
      { providerID: ID },
      [buildInstance(1, { State: { Name: "terminated" } })],
      {},
      ID,
    ],
    [
      "not by name if it is terminated",
      { name: NAME },
      [buildInstance(1, { State: { Name: "terminated" } })],
      {},
      "not-found",
    ],
    [
      "by name if it is shutting down",
      { name: NAME },
      [buildInstance(1, { State: { Name: "shutting-down" } })],
      {},
      ID,
    ],
    ["is not found by ID", { providerID: ID }, [buildInstance(2)], {}, "not-found"],
    ["is not found by name", { name: NAME }, [buildInstance(2)], {}, "not-found"],
    [
      "is not searched by another cloud's provider ID",
      { name: NAME, providerID: "gce://p/z/i-1" },
      [buildInstance(1)],
      {},
      "ForeignProviderID",
    ],
    [
      "is not searched by a volume as provider ID",
      { name: NAME, providerID: "aws:///a/vol-0123456789abcdef0" },
      [buildInstance(1)],
      {},
      "InvalidProviderID",
    ],
  ])("%s", async (_, node, instances, config, expected) => {
    const { answers } = await answersOf(instances, [node], config);
    expect(answers.map(formatAnswer)).toEqual([expected]);
  });
});

describe("two nodes of a batch that match one instance", () => {
  const elsewhere = { name: "ip-10-0-0-1.corp.example" };
  test.each<[string, NodeTraits, NodeTraits, readonly string[]]>([
    ["one by ID, one by name: both get it", { name: "old", providerID: ID }, { name: NAME }, [ID, ID]],
    ["one by name, one by its first label: the first gets it", { name: NAME }, elsewhere, [ID, "Ambiguous"]],
    [
      "one by ID, one by its first label: the first gets it",
      { name: "old", providerID: ID },
      elsewhere,
      [ID, "Ambiguous"],
    ],
    [
      "both by their first label: neither gets it",
      { name: "ip-10-0-0-1" },
      elsewhere,
      ["Ambiguous", "Ambiguous"],
    ],
  ])("%s", async (_, first, second, expected) => {
    const { answers } = await answersOf([buildInstance(1)], [first, second]);
    expect(answers.map(formatAnswer)).toEqual(expected);
    const disputed = answers.filter((answer) => answer.kind === "error");
    for (const { message } of disputed) expect(message).toContain(`claimed by`);
  });
});

describe("a name that matches more than ten pages", () => {
  const web = (count: number) =>
    Array.from({ length: count }, (_, index) =>
      buildInstance(100 + index, { PrivateDnsName: `web.d${index}` }),
    );
  const elsewhere = buildInstance(1, { PrivateDnsName: "ip-10-0-0-1.a" });

  async function answersIn(change: Partial<Ec2World>, instances: Ec2Instance[], names: readonly string[]) {
    const world = Object.assign(new Ec2World(), change);
    world.instances.push(...instances);
    const nodes = names.map((name) => buildNode({ name }));
    const { answers } = await world.cloud().instances(nodes, buildCall());
    return { world, answers };
  }

  test("does not matter if EC2's own domain identifies the instance", async () => {
    const many = { scanSize: 1 };
    const { world, answers } = await answersIn(many, [...web(20), buildInstance(1)], ["ip-10-0-0-1.corp"]);
    expect(answers.map(formatAnswer)).toEqual([ID]);
    expect(world.namesAsked).toEqual([["ip-10-0-0-1.corp"], [NAME]]);
  });

  test("concerns only its own node, which gets a message on what to do", async () => {
    const names = ["ip-10-0-0-1.corp", "web", "unknown"];
    const { world, answers } = await answersIn({ pageSize: 1 }, [...web(20), elsewhere], names);
    expect(answers.map(formatAnswer)).toEqual([ID, "Ambiguous", "not-found"]);
    expect(answers[1]).toMatchObject({ message: expect.stringContaining("--provider-id") });
    expect(world.count("DescribeInstances")).toBeLessThanOrEqual(30);
  });

  test("is not called ambiguous because of other clusters' instances", async () => {
    const Tags = [{ Key: "kubernetes.io/cluster/theirs", Value: "owned" }];
    const theirs = web(20).map((instance) => ({ ...instance, Tags }));
    const { answers } = await answersIn({ pageSize: 1 }, theirs, ["web"]);
    expect(answers.map(formatAnswer)).toEqual(["Unavailable"]);
  });

  test("still resolves a name that alone matches within ten pages", async () => {
    const other = Array.from({ length: 9 }, (_, index) =>
      buildInstance(200 + index, { PrivateDnsName: `db.d${index}`, ...THEIRS }),
    );
    const ours = buildInstance(2, { PrivateDnsName: "db.ours" });
    const instances = [...web(8), ...other, ours];
    const { answers } = await answersIn({ pageSize: 1 }, instances, ["web", "db"]);
    expect(answers.map(formatAnswer)).toEqual(["Ambiguous", TWIN]);
  });

  test("of many such nodes costs only a few listings", async () => {
    const labels = Array.from({ length: 50 }, (_, index) => `web-${index}`);
    const instances = labels.flatMap((label, at) =>
      Array.from({ length: 12 }, (_, index) =>
        buildInstance(at * 12 + index, { PrivateDnsName: `${label}.d${index}` }),
      ),
    );
    const { world, answers } = await answersIn({ pageSize: 1 }, instances, labels);
    const found = new Set(answers.map(formatAnswer));
    expect([...found].toSorted()).toEqual(["Ambiguous", "Unavailable"]);
    expect(world.count("DescribeInstances")).toBeLessThanOrEqual(75);
  });

  test("is searched once even if EC2 returns empty pages", async () => {
    const { world, answers } = await answersIn({ scanSize: 1 }, [...web(20), elsewhere], ["a", "b", "c"]);
    expect(answers.map(formatAnswer)).toEqual(["Unavailable", "Unavailable", "Unavailable"]);
    expect(world.count("DescribeInstances")).toBeLessThanOrEqual(12);
  });
});

test("a node's existing provider ID is returned unchanged", async () => {
  const providerID = `aws:///another-zone/${ID}`;
  const { answers } = await answersOf([buildInstance(1)], [{ providerID }, { name: NAME }]);
  expect(answers).toMatchObject([
    { instance: { providerID } },
    { instance: { providerID: `aws:///eu-central-1a/${ID}` } },
  ]);
});

test("the facts of an instance", async () => {
  const { answers } = await answersOf([buildInstance(1)], [{ name: NAME }]);
  expect(answers).toEqual([
    {
      kind: "found",
      instance: {
        id: ID,
        account: "123456789012",
        network: "vpc-0123456789abcdef0",
        state: "running",
        providerID: `aws:///eu-central-1a/${ID}`,
        type: "m7g.large",
        zone: "eu-central-1a",
        region: "eu-central-1",
        addresses: [
          { type: "InternalIP", address: "10.0.0.1" },
          { type: "InternalDNS", address: NAME },
          { type: "Hostname", address: NAME },
        ],
        labels: { "topology.k8s.aws/zone-id": "euc1-az2" },
      },
    },
  ]);
});

test("a terminated instance without VPC and placement is reported as terminated", async () => {
  const {
    VpcId: _vpc,
    Placement: _placement,
    ...forgotten
  } = buildInstance(1, { State: { Name: "terminated" } });
  const { answers } = await answersOf([forgotten], [{ providerID: ID }]);
  expect(answers).toMatchObject([
    { kind: "found", instance: { state: "terminated", network: "", zone: "" } },
  ]);
});

describe("names and IDs without an instance", () => {
  test.each<[string, Partial<Ec2Instance>]>([
    ["without a state", { State: {} }],
    ["in an unknown state", { State: { Name: "asleep" as "running" } }],
    ["without a placement", { Placement: {} }],
    ["with an invalid address", { PublicIpAddress: "rubbish" }],
  ])("an instance %s is an error of its node only", async (_, poison) => {
    if (poison.State?.Name !== undefined)
      expectViolations("ec2:DescribeInstances answer Reservations[].Instances[].State.Name enum");
    const { answers } = await answersOf(
      [buildInstance(1, poison), buildInstance(2)],
      [{ providerID: ID }, { providerID: TWIN }],
    );
    expect(answers.map(formatAnswer)).toEqual(["Unavailable", TWIN]);
  });

  test("an instance without an ID never means not found", async () => {
    const { InstanceId: _id, ...nameless } = buildInstance(1);
    const world = new Ec2World();
    world.rubbish = { Reservations: [{ Instances: [nameless, buildInstance(2)] }] };
    const nodes = [{ providerID: ID }, { providerID: TWIN }, { name: NAME }].map(buildNode);
    const { answers } = await world.cloud().instances(nodes, buildCall());
    expect(answers.map(formatAnswer)).toEqual(["Unavailable", TWIN, "Unavailable"]);
  });

  test.each<[string, object]>([
    ["an answer without reservations", {}],
    ["pages without an end", { Reservations: [], NextToken: "again" }],
  ])("%s is an error, and never means not found", async (_, rubbish) => {
    const world = new Ec2World();
    world.rubbish = rubbish;
    const { answers } = await world
      .cloud()
      .instances([{ providerID: ID }, { name: NAME }].map(buildNode), buildCall());
    expect(answers.map(formatAnswer)).toEqual(["Unavailable", "Unavailable"]);
    for (const answer of answers) {
      expect(answer).toMatchObject({ message: expect.stringContaining("DescribeInstances: ") });
    }
    expect(world.count("DescribeInstances")).toBeLessThanOrEqual(20);
  });
});
