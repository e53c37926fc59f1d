import type { Instance as Ec2Instance } from "@aws-sdk/client-ec2";
import { describe, expect, test } from "vitest";
import type { AwsCloudConfig } from "#clouds/aws/config.ts";
import type { AheadMode } from "#core/instance.ts";
import { buildInstance, Ec2World } from "#test/clouds/aws/ec2-world.ts";
import { buildCall, buildNode, type NodeTraits } from "#test/clouds/builders.ts";
import { formatAnswer } from "#test/clouds/conformance.ts";

const START_MS = Date.parse("2026-01-01T00:01:00Z");
const idOf = (number: number) => `i-${number.toString(16).padStart(17, "0")}`;
const byID = (number: number): NodeTraits => ({ name: `n${number}`, providerID: `aws:///x/${idOf(number)}` });
const byName = (number: number): NodeTraits => ({
  name: `ip-10-0-0-${number}.eu-central-1.compute.internal`,
});
const launched = (number: number, traits: Partial<Ec2Instance> = {}) =>
  buildInstance(number, { LaunchTime: new Date(START_MS - 30_000), ...traits });

interface Asking {
  readonly ahead?: AheadMode;
  readonly launches?: boolean;
}

/** The nodes that join first, as many as a look needs. */
const FIRST = [1, 2, 3, 4, 5];

/** A cluster in which the nodes 1 to 5 join; the others were launched as `traits` say. */
function createWorld(traits: Partial<Ec2Instance> = {}, config: Partial<AwsCloudConfig> = {}) {
  const world = new Ec2World();
  for (const number of FIRST) world.instances.push(launched(number));
  for (const number of [6, 7, 8]) world.instances.push(launched(number, traits));
  const cloud = world.cloud(config);
  const join = async (nodes: readonly NodeTraits[], { ahead = "use", launches = true }: Asking = {}) => {
    const call = { ...buildCall(), ahead, launches };
    return (await cloud.instances(nodes.map(buildNode), call)).answers.map(formatAnswer);
  };
  return { world, join, calls: () => world.count("DescribeInstances") };
}

describe("while several nodes join", () => {
  test.each([
    ["by provider ID", byID],
    ["by name", byName],
  ])("those that were launched lately are known: %s", async (_, node) => {
    const { join, calls } = createWorld();
    expect(await join(FIRST.map(node))).toEqual(FIRST.map(idOf));
    expect(await join([6, 7, 8].map(node))).toEqual([6, 7, 8].map(idOf));
    expect(calls()).toBe(2);
  });

  test("that join one by one, the fifth one looks", async () => {
    const { world, join } = createWorld();
    for (const number of [1, 2, 3, 4]) await join([byID(number)]);
    expect(world.launchesAsked).toHaveLength(0);
    await join([byID(5)]);
    expect(world.launchesAsked).toHaveLength(1);
  });

  test("announcements look, too", async () => {
    const { join, calls } = createWorld();
    await join(FIRST.map(byID), { ahead: "keep" });
    expect(await join([6, 7, 8].map(byID))).toEqual([6, 7, 8].map(idOf));
    expect(calls()).toBe(2);
  });

  test("a look asks for the minutes of three minutes", async () => {
    const { world, join } = createWorld();
    world.nowMs = 200_000;
    await join(FIRST.map(byID));
    const minutes = ["01", "02", "03", "04"].map((minute) => `2026-01-01T00:${minute}:*`);
    expect(world.launchesAsked).toEqual([minutes]);
  });

  test("the next look comes after 15 seconds", async () => {
    const { world, join } = createWorld();
    await join(FIRST.map(byID));
    world.nowMs += 14_999;
    await join(FIRST.map(byID));
    expect(world.launchesAsked).toHaveLength(1);
    world.nowMs += 1;
    await join(FIRST.map(byID));
    expect(world.launchesAsked).toHaveLength(2);
  });

  test("a known node is asked for the second time, even after another look", async () => {
    const { world, join, calls } = createWorld();
    await join(FIRST.map(byID));
    await join([byID(6)]);
    world.nowMs += 15_000;
    await join(FIRST.map(byID));
    const before = calls();
    await join([byID(6)]);
    expect(calls()).toBe(before + 1);
  });

  test("a look reads at most two pages", async () => {
    const { world, join, calls } = createWorld();
    world.pageSize = 2;
    await join([1, 2].map(byID));
    expect(calls()).toBe(1);
    await join([3, 4, 5].map(byID));
    expect(calls()).toBe(1 + 2 + 2);
  });
});

describe("EC2 is asked as the node joins", () => {
  test.each<[string, Partial<Ec2Instance>]>([
    ["starts", { State: { Name: "pending" } }],
    ["is stopped", { State: { Name: "stopped" } }],
    ["was launched more than three minutes ago", { LaunchTime: new Date(START_MS - 5 * 60_000) }],
    ["belongs to another cluster", { Tags: [{ Key: "kubernetes.io/cluster/theirs", Value: "owned" }] }],
    [
      "carries only the legacy tag of another cluster",
      { Tags: [{ Key: "KubernetesCluster", Value: "theirs" }] },
    ],
    ["is in another VPC", { VpcId: "vpc-1" }],
  ])("if its machine %s at the look", async (_, traits) => {
    const { join, calls } = createWorld(traits);
    await join(FIRST.map(byID));
    const before = calls();
    await join([byID(6)]);
    expect(calls()).toBeGreaterThan(before);
  });

  test("if its name may be another machine's in another VPC", async () => {
    const { join, calls } = createWorld({}, { vpc: undefined });
    await join(FIRST.map(byName));
    const before = calls();
    await join([byName(6)]);
    expect(calls()).toBeGreaterThan(before);
  });

  test("if launches are not a source", async () => {
    const { world, join, calls } = createWorld();
    await join(FIRST.map(byID), { launches: false });
    await join([byID(6)], { launches: false });
    expect([world.launchesAsked, calls()]).toEqual([[], 2]);
  });
});

describe("the nodes of the batch get their answers", () => {
  const answersOf = async (spoil: (world: Ec2World) => void): Promise<readonly string[]> => {
    const { world, join } = createWorld();
    spoil(world);
    return join(FIRST.map(byID));
  };
  /** Replaces what EC2 answers to a look at launches. */
  const onLook = (world: Ec2World, answer: () => Promise<object>): void => {
    const describeInstances = world.describeInstances.bind(world);
    world.describeInstances = (request, signal) =>
      request.Filters?.some(({ Name: name }) => name === "launch-time")
        ? answer()
        : describeInstances(request, signal);
  };

  test.each<[string, (world: Ec2World) => void]>([
    ["the look fails", (world) => onLook(world, () => Promise.reject(new Error("denied")))],
    ["the look has no end", (world) => onLook(world, () => new Promise(() => {}))],
    [
      "the look answers rubbish",
      (world) => onLook(world, async () => ({ Reservations: [{ Instances: [{}] }] })),
    ],
    ["the look answers no list", (world) => onLook(world, async () => ({}))],
  ])("although %s", async (_, spoil) => {
    expect(await answersOf(spoil)).toEqual(FIRST.map(idOf));
  });

  test("and no look waits for the account's quota", async () => {
    const { world, join } = createWorld(
      {},
      { quotas: { DescribeInstances: { burst: 1, refillPerSecond: 1 } } },
    );
    expect(await join(FIRST.map(byID))).toEqual(FIRST.map(idOf));
    expect([world.launchesAsked, world.waitedMs]).toEqual([[], 0]);
  });
});
