import { describe, expect, test } from "vitest";
import { anInstance, awsError, Ec2World } from "#test/clouds/aws/ec2-world.ts";
import { aCall, aNode, type NodeTraits } from "#test/clouds/builders.ts";

const THROTTLE = awsError("RequestLimitExceeded", 503);

function aWorld(count = 1, type = "p5.48xlarge") {
  const world = new Ec2World();
  for (let number = 1; number <= count; number += 1) {
    const instance = anInstance(number, { InstanceType: type as "p5.48xlarge" });
    const { InstanceId = "" } = instance;
    world.instances.push(instance);
    world.topology.set(InstanceId, { InstanceId, NetworkNodes: ["nn-1", "nn-2", `nn-3-${number}`] });
  }
  return world;
}

const identified = (number: number, traits: NodeTraits = {}) =>
  aNode({ name: `node-${number}`, providerID: `i-${number.toString(16).padStart(17, "0")}`, ...traits });

async function labelsIn(cloud: ReturnType<Ec2World["cloud"]>, nodes = [identified(1)]) {
  const { answers } = await cloud.instances(nodes, aCall());
  return answers.map((answer) =>
    answer.kind === "found" ? answer.instance.labels : answer.kind === "error" ? answer.code : answer.kind,
  );
}

describe("zone ids", () => {
  const ZONE = { "topology.k8s.aws/zone-id": "euc1-az2" };

  test("are asked for once, whatever the number of batches", async () => {
    const world = aWorld(1, "m7g.large");
    const cloud = world.cloud();
    expect([await labelsIn(cloud), await labelsIn(cloud)]).toEqual([[ZONE], [ZONE]]);
    expect(world.count("DescribeAvailabilityZones")).toBe(1);
  });

  test("are not asked for where EC2 told them with the instance", async () => {
    const world = aWorld(1, "m7g.large");
    world.instances[0] = anInstance(1, {
      Placement: { AvailabilityZone: "eu-central-1a", AvailabilityZoneId: "told" },
    });
    expect(await labelsIn(world.cloud())).toEqual([{ "topology.k8s.aws/zone-id": "told" }]);
    expect(world.count("DescribeAvailabilityZones")).toBe(0);
  });

  test("are not asked for where the node has one", async () => {
    const world = aWorld(1, "m7g.large");
    await labelsIn(world.cloud(), [identified(1, { labels: { "topology.k8s.aws/zone-id": "x" } })]);
    expect(world.count("DescribeAvailabilityZones")).toBe(0);
  });

  test("unknown ones are left out, and asked for again after a minute, not before", async () => {
    const world = aWorld(1, "m7g.large");
    world.zones.clear();
    const cloud = world.cloud();
    expect([await labelsIn(cloud), await labelsIn(cloud)]).toEqual([[{}], [{}]]);
    expect(world.count("DescribeAvailabilityZones")).toBe(1);
    world.zones.set("eu-central-1a", "euc1-az2");
    world.nowMs += 60_000;
    expect(await labelsIn(cloud)).toEqual([ZONE]);
    expect(world.count("DescribeAvailabilityZones")).toBe(2);
  });

  test.each([
    ["a throttle", THROTTLE],
    ["a denial", awsError("UnauthorizedOperation", 403)],
    ["a failure", awsError("InternalError", 500)],
  ])("%s costs the label and not the node", async (_, error) => {
    const world = aWorld(1, "m7g.large");
    world.errors.set("DescribeAvailabilityZones", error);
    expect(await labelsIn(world.cloud())).toEqual([{}]);
  });
});

describe("the place in the network", () => {
  const PLACE = {
    "topology.k8s.aws/network-node-layer-1": "nn-1",
    "topology.k8s.aws/network-node-layer-2": "nn-2",
    "topology.k8s.aws/network-node-layer-3": "nn-3-1",
    "topology.k8s.aws/zone-id": "euc1-az2",
  };
  const ZONE = { "topology.k8s.aws/zone-id": "euc1-az2" };

  test("is one label a layer", async () => {
    expect(await labelsIn(aWorld().cloud())).toEqual([PLACE]);
  });

  test("is asked for of 100 instances in one request", async () => {
    const world = aWorld(100);
    const labels = await labelsIn(
      world.cloud(),
      Array.from({ length: 100 }, (_, index) => identified(index + 1)),
    );
    expect(labels[99]).toMatchObject({ "topology.k8s.aws/network-node-layer-3": "nn-3-100" });
    expect(world.count("DescribeInstanceTopology")).toBe(1);
  });

  test("of 150 instances is asked for a second apart", async () => {
    const world = aWorld(150);
    await labelsIn(
      world.cloud(),
      Array.from({ length: 150 }, (_, index) => identified(index + 1)),
    );
    const times = world.requests.filter(({ operation }) => operation === "DescribeInstanceTopology");
    expect(times.map(({ at }) => at)).toEqual([0, 1000]);
  });

  test.each<[string, string, NodeTraits]>([
    ["of a type that the pattern leaves out", "m7g.large", {}],
    ["where the node has it", "p5.48xlarge", { labels: { "topology.k8s.aws/network-node-layer-1": "x" } }],
  ])("is not asked for %s", async (_, type, traits) => {
    const world = aWorld(1, type);
    await labelsIn(world.cloud(), [identified(1, traits)]);
    expect(world.count("DescribeInstanceTopology")).toBe(0);
  });

  test.each([
    ["denied", awsError("UnauthorizedOperation", 403)],
    ["not offered in the region", awsError("UnsupportedOperation", 400)],
  ])("%s, it costs the labels alone, and is not asked for again for a day", async (_, error) => {
    const world = aWorld();
    world.errors.set("DescribeInstanceTopology", error);
    const cloud = world.cloud();
    expect([await labelsIn(cloud), await labelsIn(cloud)]).toEqual([[ZONE], [ZONE]]);
    expect(world.count("DescribeInstanceTopology")).toBe(1);
    world.errors.clear();
    world.nowMs += 24 * 60 * 60_000;
    expect(await labelsIn(cloud)).toEqual([PLACE]);
  });

  test("that EC2 does not have is not asked for again, while another instance's is", async () => {
    const world = aWorld(2);
    world.topology.delete("i-00000000000000001");
    const cloud = world.cloud();
    expect(await labelsIn(cloud)).toEqual([ZONE]);
    world.nowMs += 2000;
    expect(await labelsIn(cloud)).toEqual([ZONE]);
    expect(world.count("DescribeInstanceTopology")).toBe(1);
    await labelsIn(cloud, [identified(2)]);
    expect(world.count("DescribeInstanceTopology")).toBe(2);
  });

  test.each<[string, Error, NodeTraits, unknown]>([
    ["throttled for a node that waits", THROTTLE, {}, "Throttled"],
    ["failing for a node that waits", awsError("InternalError", 500), {}, "Unavailable"],
    [
      "throttled for a node that waited five minutes",
      THROTTLE,
      { creationTimestamp: "2025-12-31T23:56:00Z" },
      ZONE,
    ],
    ["throttled for a node that has joined", THROTTLE, { taints: [] }, ZONE],
  ])("%s", async (_, error, traits, expected) => {
    const world = aWorld(2, "p5.48xlarge");
    world.errors.set("DescribeInstanceTopology", error);
    expect(await labelsIn(world.cloud(), [identified(1, traits)])).toEqual([expected]);
  });

  test("keeps only those waiting that it concerns", async () => {
    const world = aWorld(1);
    world.instances.push(anInstance(2));
    world.errors.set("DescribeInstanceTopology", THROTTLE);
    expect(await labelsIn(world.cloud(), [identified(1), identified(2)])).toEqual(["Throttled", ZONE]);
  });
});
