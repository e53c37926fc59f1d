import type { Instance as Ec2Instance } from "@aws-sdk/client-ec2";
import { describe, expect, test } from "vitest";
import { buildInstance, Ec2World } from "#test/clouds/aws/ec2-world.ts";
import { buildCall, buildNode, type NodeTraits } from "#test/clouds/builders.ts";
import { formatAnswer } from "#test/clouds/conformance.ts";

const ID = "i-00000000000000001";
const PROVIDER_ID = `aws:///eu-central-1a/${ID}`;
const NAME = "ip-10-0-0-1.eu-central-1.compute.internal";
const THEIRS = { Tags: [{ Key: "kubernetes.io/cluster/theirs", Value: "owned" }] };

function createWorld(...instances: readonly Ec2Instance[]) {
  const world = new Ec2World();
  world.instances.push(...instances);
  const cloud = world.cloud();
  const ask = async (ahead: "keep" | "use" | undefined, ...nodes: readonly NodeTraits[]) =>
    (await cloud.instances(nodes.map(buildNode), { ...buildCall(), ahead })).answers;
  const look = async (ahead: "keep" | "use" | undefined, ...nodes: readonly NodeTraits[]) =>
    (await ask(ahead, ...nodes)).map(formatAnswer);
  return { world, ask, look, calls: () => world.count("DescribeInstances") };
}

describe("a machine that was looked up before its node joins", () => {
  test.each<[string, NodeTraits, NodeTraits]>([
    ["by provider ID", { name: "claim", providerID: PROVIDER_ID }, { name: NAME, providerID: PROVIDER_ID }],
    ["by another spelling of its provider ID", { providerID: `aws:///x/${ID}` }, { providerID: PROVIDER_ID }],
    ["by private DNS name", { name: NAME }, { name: NAME }],
    ["by an instance ID as name", { name: ID }, { name: `${ID}.ec2.internal` }],
  ])("answers without a request: %s", async (_, announced, joining) => {
    const { look, calls } = createWorld(buildInstance(1));
    await look("keep", announced);
    expect([await look("use", joining), calls()]).toEqual([[ID], 1]);
  });

  test("gets the answer that EC2 gives", async () => {
    const instance = buildInstance(1, {
      PublicIpAddress: "192.0.2.1",
      PublicDnsName: "ec2-192-0-2-1.example",
      Placement: { AvailabilityZone: "eu-central-1a", AvailabilityZoneId: "euc1-az2" },
      NetworkInterfaces: [
        {
          Status: "in-use",
          Attachment: { DeviceIndex: 1 },
          PrivateIpAddresses: [{ PrivateIpAddress: "10.0.0.9" }],
          Ipv6Addresses: [{ Ipv6Address: "2001:db8::9" }],
        },
        { Status: "available", PrivateIpAddresses: [{ PrivateIpAddress: "10.0.0.8" }] },
        {
          Status: "in-use",
          Attachment: { DeviceIndex: 0 },
          PrivateIpAddresses: [{ PrivateIpAddress: "10.0.0.1" }, { PrivateIpAddress: "10.0.0.2" }],
        },
      ],
    });
    const { ask } = createWorld(instance);
    await ask("keep", { providerID: PROVIDER_ID });
    const [kept] = await ask("use", { providerID: PROVIDER_ID });
    expect([kept]).toEqual(await ask(undefined, { providerID: PROVIDER_ID }));
    expect(kept).toMatchObject({ kind: "found" });
  });

  test("does not give the node the provider ID of its announcement", async () => {
    const { ask } = createWorld(buildInstance(1));
    await ask("keep", { providerID: `aws:///forged/${ID}` });
    const [answer] = await ask("use", { name: ID });
    expect(answer).toMatchObject({ instance: { providerID: PROVIDER_ID } });
  });

  test("answers while EC2 is away", async () => {
    const { world, look } = createWorld(buildInstance(1));
    await look("keep", { providerID: PROVIDER_ID });
    world.errors.set("DescribeInstances", new Error("away"));
    expect(await look("use", { providerID: PROVIDER_ID })).toEqual([ID]);
  });

  test("comes up beside a machine that was not", async () => {
    const { look, calls } = createWorld(buildInstance(1), buildInstance(2));
    await look("keep", { providerID: PROVIDER_ID });
    const two = "i-00000000000000002";
    expect(await look("use", { providerID: PROVIDER_ID }, { providerID: `aws:///x/${two}` })).toEqual([
      ID,
      two,
    ]);
    expect(calls()).toBe(2);
  });
});

describe("EC2 is asked when the node joins", () => {
  test.each<[string, NodeTraits, NodeTraits, Partial<Ec2Instance>]>([
    [
      "if the machine was starting",
      { providerID: PROVIDER_ID },
      { providerID: PROVIDER_ID },
      { State: { Name: "pending" } },
    ],
    [
      "if the machine was stopped",
      { providerID: PROVIDER_ID },
      { providerID: PROVIDER_ID },
      { State: { Name: "stopped" } },
    ],
    ["if another cluster's tag was on it", { providerID: PROVIDER_ID }, { providerID: PROVIDER_ID }, THEIRS],
    ["if its name was only a guess", { name: "ip-10-0-0-1" }, { name: "ip-10-0-0-1" }, {}],
    [
      "if it was looked up by its provider ID and joins by name",
      { providerID: PROVIDER_ID },
      { name: NAME },
      {},
    ],
    [
      "if it was looked up by name and joins by provider ID",
      { name: NAME },
      { name: NAME, providerID: PROVIDER_ID },
      {},
    ],
  ])("%s", async (_, announced, joining, traits) => {
    const { world, look, calls } = createWorld(buildInstance(1, traits));
    await look("keep", announced);
    const before = calls();
    world.instances.splice(0, 1, buildInstance(1));
    expect([await look("use", joining), calls() > before]).toEqual([[ID], true]);
  });

  test("after two minutes", async () => {
    const { world, look, calls } = createWorld(buildInstance(1));
    await look("keep", { providerID: PROVIDER_ID });
    world.nowMs += 120_001;
    expect([await look("use", { providerID: PROVIDER_ID }), calls()]).toEqual([[ID], 2]);
  });

  test.each<[string, Partial<Ec2Instance>]>([
    ["stops", { State: { Name: "stopped" } }],
    ["loses the cluster's tag", THEIRS],
  ])("if the machine %s before it is looked up again", async (_, traits) => {
    const { world, look, calls } = createWorld(buildInstance(1));
    await look("keep", { providerID: PROVIDER_ID });
    world.instances.splice(0, 1, buildInstance(1, traits));
    await look("keep", { providerID: PROVIDER_ID });
    await look("use", { providerID: PROVIDER_ID });
    expect(calls()).toBe(3);
  });

  test("the second time", async () => {
    const { look, calls } = createWorld(buildInstance(1));
    await look("keep", { providerID: PROVIDER_ID });
    await look("use", { providerID: PROVIDER_ID });
    expect([await look("use", { providerID: PROVIDER_ID }), calls()]).toEqual([[ID], 2]);
  });

  test("if the relay does not send it as joining", async () => {
    const { look, calls } = createWorld(buildInstance(1));
    await look("keep", { providerID: PROVIDER_ID });
    expect([await look(undefined, { providerID: PROVIDER_ID }), calls()]).toEqual([[ID], 2]);
  });
});

test("a node that claims a known instance by a guess is ambiguous", async () => {
  const { look } = createWorld(buildInstance(1));
  await look("keep", { providerID: PROVIDER_ID });
  const answers = await look("use", { name: "other", providerID: PROVIDER_ID }, { name: "ip-10-0-0-1" });
  expect(answers).toEqual([ID, "Ambiguous"]);
});

describe("the store of answers", () => {
  const look = async (count: number, traits: Partial<Ec2Instance> = {}) => {
    const { world, ask } = createWorld();
    world.instances.push(...Array.from({ length: count }, (_, index) => buildInstance(index + 1, traits)));
    const nodes = world.instances.map(({ InstanceId: id }) => ({
      name: `${id}`,
      providerID: `aws:///x/${id}`,
    }));
    await ask("keep", ...nodes);
    world.errors.set("DescribeInstances", new Error("away"));
    return (await ask("use", ...nodes)).map(({ kind }) => kind === "found");
  };

  test("holds at most 2,000 instances, the newest ones", async () => {
    const found = await look(2_100);
    expect([found.slice(0, 100).some(Boolean), found.slice(100).every(Boolean)]).toEqual([false, true]);
  });

  test("holds at most four million characters", async () => {
    const Tags = Array.from({ length: 50 }, (_, index) => ({
      Key: index === 0 ? "kubernetes.io/cluster/demo" : `${index}`,
      Value: "v".repeat(20_000),
    }));
    expect(await look(6, { Tags })).toEqual([false, false, true, true, true, true]);
  });
});
