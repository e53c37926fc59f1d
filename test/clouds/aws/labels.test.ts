import { describe, expect, test } from "vitest";
import { AwsCloudConfig } from "#clouds/aws/config.ts";
import { aws } from "#clouds/aws/provider.ts";
import type { Operation } from "#clouds/aws/quotas.ts";
import type { InstanceAnswer } from "#core/instance.ts";
import { buildConfig, buildInstance, createAwsError, Ec2World } from "#test/clouds/aws/ec2-world.ts";
import { buildCall, buildNode, type NodeTraits } from "#test/clouds/builders.ts";

const THROTTLE = createAwsError("RequestLimitExceeded", 503);

function aWorld(count = 1, type = "p5.48xlarge") {
  const world = new Ec2World();
  for (let number = 1; number <= count; number += 1) {
    const instance = buildInstance(number, { InstanceType: type as "p5.48xlarge" });
    const { InstanceId = "" } = instance;
    world.instances.push(instance);
    world.topology.set(InstanceId, { InstanceId, NetworkNodes: ["nn-1", "nn-2", `nn-3-${number}`] });
  }
  return world;
}

const EXPIRED = createAwsError("RequestExpired", 400);
const NEVER = new Promise<void>(() => {});
const OLD = { creationTimestamp: "2025-12-31T23:56:00Z" };
const ZONE = { "topology.k8s.aws/zone-id": "euc1-az2" };
const TOLD_ZONE = { "topology.k8s.aws/zone-id": "told" };
const TOLD = buildInstance(1, {
  Placement: { AvailabilityZone: "eu-central-1a", AvailabilityZoneId: "told" },
});

/** Runs everything that waits only for the event loop. */
const settled = () => new Promise((resolve) => setImmediate(resolve));

function hold(world: Ec2World, operation: Operation): () => void {
  const { promise, resolve } = Promise.withResolvers<void>();
  world.held.set(operation, promise);
  return resolve;
}

const identified = (number: number, traits: NodeTraits = {}) =>
  buildNode({ name: `node-${number}`, providerID: `i-${number.toString(16).padStart(17, "0")}`, ...traits });

async function labelsIn(cloud: ReturnType<Ec2World["cloud"]>, nodes = [identified(1)]) {
  const { answers } = await cloud.instances(nodes, buildCall());
  return answers.map(labelsOrCode);
}

function labelsOrCode(answer: InstanceAnswer) {
  return answer.kind === "found"
    ? answer.instance.labels
    : answer.kind === "error"
      ? answer.code
      : answer.kind;
}

describe("zone ids", () => {
  test("are requested once, for any number of batches", async () => {
    const world = aWorld(1, "m7g.large");
    const cloud = world.cloud();
    expect([await labelsIn(cloud), await labelsIn(cloud)]).toEqual([[ZONE], [ZONE]]);
    expect(world.count("DescribeAvailabilityZones")).toBe(1);
  });

  test("are requested ahead of need, and not again if EC2 returned them with the instance", async () => {
    const world = aWorld(1, "m7g.large");
    world.instances[0] = TOLD;
    const cloud = world.cloud();
    expect([await labelsIn(cloud), await labelsIn(cloud)]).toEqual([[TOLD_ZONE], [TOLD_ZONE]]);
    expect(world.count("DescribeAvailabilityZones")).toBe(1);
  });

  test("requested ahead are not waited for if EC2 returned them with the instance", async () => {
    const world = aWorld(1, "m7g.large");
    world.instances[0] = TOLD;
    world.held.set("DescribeAvailabilityZones", NEVER);
    expect(await labelsIn(world.cloud())).toEqual([TOLD_ZONE]);
  });

  test.each<[string, NodeTraits]>([
    ["the node has the label", { labels: { "topology.k8s.aws/zone-id": "x" } }],
    ["the node has joined", { taints: [] }],
    ["nothing can be requested for the node", { providerID: "aws:///a/vol-1" }],
  ])("are not requested if %s", async (_, traits) => {
    const world = aWorld(1, "m7g.large");
    await labelsIn(world.cloud(), [identified(1, traits)]);
    expect(world.count("DescribeAvailabilityZones")).toBe(0);
  });

  test("are requested in parallel with the instances", async () => {
    const world = aWorld(1, "m7g.large");
    const release = hold(world, "DescribeInstances");
    const labels = labelsIn(world.cloud());
    await settled();
    expect(world.requests.map(({ operation }) => operation).toSorted()).toEqual([
      "DescribeAvailabilityZones",
      "DescribeInstances",
    ]);
    release();
    expect(await labels).toEqual([ZONE]);
  });

  test("are requested once for all batches that need them", async () => {
    const world = aWorld(20, "m7g.large");
    const release = hold(world, "DescribeAvailabilityZones");
    const cloud = world.cloud();
    const batches = Array.from({ length: 20 }, (_, index) => labelsIn(cloud, [identified(index + 1)]));
    await settled();
    release();
    expect((await Promise.all(batches)).flat()).toEqual(batches.map(() => ZONE));
    expect(world.count("DescribeAvailabilityZones")).toBe(1);
  });

  test("still reach a waiting batch when the batch that requested them is aborted", async () => {
    const world = aWorld(2, "m7g.large");
    const release = hold(world, "DescribeAvailabilityZones");
    const cloud = world.cloud();
    const abort = new AbortController();
    const aborted = cloud.instances([identified(1)], buildCall({ signal: abort.signal }));
    const waiting = labelsIn(cloud, [identified(2)]);
    await settled();
    abort.abort();
    expect((await aborted).answers).toMatchObject([{ kind: "error", code: "Aborted" }]);
    release();
    expect(await waiting).toEqual([ZONE]);
    expect(world.count("DescribeAvailabilityZones")).toBe(1);
  });

  test("that are unknown are left out, and requested again after a minute", async () => {
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

  test.each<[string, Error, NodeTraits, unknown]>([
    ["throttled delay a waiting node", THROTTLE, {}, "Throttled"],
    ["failing delay a waiting node", createAwsError("InternalError", 500), {}, "Unavailable"],
    ["with expired credentials delay a waiting node", EXPIRED, {}, "Unavailable"],
    ["denied are left out for a waiting node", createAwsError("UnauthorizedOperation", 403), {}, {}],
    ["throttled do not delay a node that has waited five minutes", THROTTLE, OLD, {}],
    ["throttled are left out for a node that has joined", THROTTLE, { taints: [] }, {}],
  ])("%s", async (_, error, traits, expected) => {
    const world = aWorld(1, "m7g.large");
    world.errors.set("DescribeAvailabilityZones", error);
    expect(await labelsIn(world.cloud(), [identified(1, traits)])).toEqual([expected]);
  });

  test.each([
    ["a throttle", THROTTLE],
    ["a failure", createAwsError("InternalError", 500)],
    ["expired credentials", EXPIRED],
  ])("are requested again after %s, so that no node of the next minute lacks them", async (_, error) => {
    const world = aWorld(20, "m7g.large");
    const cloud = world.cloud();
    world.errors.set("DescribeAvailabilityZones", error);
    await labelsIn(cloud);
    world.errors.clear();
    const nodes = Array.from({ length: 20 }, (_, index) => identified(index + 1));
    expect(await labelsIn(cloud, nodes)).toEqual(nodes.map(() => ZONE));
  });

  test("that are not a list are requested again", async () => {
    const world = aWorld(1, "m7g.large");
    const cloud = world.cloud();
    world.noZones = {};
    expect(await labelsIn(cloud)).toEqual(["Unavailable"]);
    world.noZones = undefined;
    expect(await labelsIn(cloud)).toEqual([ZONE]);
  });

  test("that never arrive do not delay nodes whose zone is known", async () => {
    const world = aWorld(2, "m7g.large");
    world.instances[0] = TOLD;
    world.instances[1] = buildInstance(2, { Placement: { AvailabilityZone: "eu-central-1b" } });
    world.held.set("DescribeAvailabilityZones", NEVER);
    const call = buildCall({ signal: AbortSignal.timeout(120_000) });
    const { answers } = await world.cloud().instances([identified(1), identified(2)], call);
    expect(answers.map(labelsOrCode)).toEqual([TOLD_ZONE, "Unavailable"]);
  });

  test("delay only nodes whose zone is not known", async () => {
    const world = aWorld(2, "m7g.large");
    const cloud = world.cloud();
    await labelsIn(cloud);
    world.nowMs += 60_000;
    world.instances[1] = buildInstance(2, { Placement: { AvailabilityZone: "eu-central-1b" } });
    world.errors.set("DescribeAvailabilityZones", THROTTLE);
    expect(await labelsIn(cloud, [identified(1), identified(2)])).toEqual([ZONE, "Throttled"]);
  });
});

describe("the network topology", () => {
  const PLACE = {
    "topology.k8s.aws/network-node-layer-1": "nn-1",
    "topology.k8s.aws/network-node-layer-2": "nn-2",
    "topology.k8s.aws/network-node-layer-3": "nn-3-1",
    "topology.k8s.aws/zone-id": "euc1-az2",
  };

  test("gives one label for each layer", async () => {
    expect(await labelsIn(aWorld().cloud())).toEqual([PLACE]);
  });

  test("is requested for 100 instances at once", async () => {
    const world = aWorld(100);
    const labels = await labelsIn(
      world.cloud(),
      Array.from({ length: 100 }, (_, index) => identified(index + 1)),
    );
    expect(labels[99]).toMatchObject({ "topology.k8s.aws/network-node-layer-3": "nn-3-100" });
    expect(world.count("DescribeInstanceTopology")).toBe(1);
  });

  test("of 150 instances is requested a second apart", async () => {
    const world = aWorld(150);
    await labelsIn(
      world.cloud(),
      Array.from({ length: 150 }, (_, index) => identified(index + 1)),
    );
    const times = world.requests.filter(({ operation }) => operation === "DescribeInstanceTopology");
    expect(times.map(({ at }) => at)).toEqual([0, 1000]);
  });

  test.each<[string, string, NodeTraits]>([
    ["a node of a type that the pattern leaves out", "m7g.large", {}],
    ["a node that has joined", "p5.48xlarge", { taints: [] }],
    [
      "a node that has its labels",
      "p5.48xlarge",
      { labels: { "topology.k8s.aws/network-node-layer-1": "x" } },
    ],
  ])("is not requested for %s", async (_, type, traits) => {
    const world = aWorld(1, type);
    await labelsIn(world.cloud(), [identified(1, traits)]);
    expect(world.count("DescribeInstanceTopology")).toBe(0);
  });

  test.each([
    ["denied", createAwsError("UnauthorizedOperation", 403)],
    ["not offered in the region", createAwsError("UnsupportedOperation", 400)],
  ])("%s leaves out only its labels, and is not requested again for a day", async (_, error) => {
    const world = aWorld();
    world.errors.set("DescribeInstanceTopology", error);
    const cloud = world.cloud();
    expect([await labelsIn(cloud), await labelsIn(cloud)]).toEqual([[ZONE], [ZONE]]);
    expect(world.count("DescribeInstanceTopology")).toBe(1);
    world.errors.clear();
    world.nowMs += 24 * 60 * 60_000;
    expect(await labelsIn(cloud)).toEqual([PLACE]);
  });

  test("that EC2 does not have is not requested again, but another instance's is", async () => {
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
    ["throttled delay a waiting node", THROTTLE, {}, "Throttled"],
    ["failing delay a waiting node", createAwsError("InternalError", 500), {}, "Unavailable"],
    ["with expired credentials delay a waiting node", EXPIRED, {}, "Unavailable"],
    ["throttled do not delay a node that has waited five minutes", THROTTLE, OLD, ZONE],
    ["throttled are left out for a node that has joined", THROTTLE, { taints: [] }, {}],
  ])("%s", async (_, error, traits, expected) => {
    const world = aWorld(2, "p5.48xlarge");
    world.errors.set("DescribeInstanceTopology", error);
    expect(await labelsIn(world.cloud(), [identified(1, traits)])).toEqual([expected]);
  });

  test("delays only the nodes that it concerns", async () => {
    const world = aWorld(1);
    world.instances.push(buildInstance(2));
    world.errors.set("DescribeInstanceTopology", THROTTLE);
    expect(await labelsIn(world.cloud(), [identified(1), identified(2)])).toEqual(["Throttled", ZONE]);
  });

  test.each([
    ["expired credentials", EXPIRED],
    ["a role that could not be assumed", createAwsError("AccessDenied", 403)],
    ["a region's refusal of everything", createAwsError("OptInRequired", 401)],
  ])("is requested again after %s, which affect more than this operation", async (_, error) => {
    const world = aWorld();
    const cloud = world.cloud();
    world.errors.set("DescribeInstanceTopology", error);
    expect(await labelsIn(cloud)).toEqual(["Unavailable"]);
    world.errors.clear();
    world.nowMs += 2000;
    expect(await labelsIn(cloud)).toEqual([PLACE]);
  });

  test("of an instance that EC2 does not know there yet delays only its own node", async () => {
    const world = aWorld(100);
    world.unknownToTopology.add("i-00000000000000032");
    const cloud = world.cloud();
    const nodes = Array.from({ length: 100 }, (_, index) => identified(index + 1));
    const labels = await labelsIn(cloud, nodes);
    expect(labels.flatMap((each, index) => (typeof each === "string" ? [[index + 1, each]] : []))).toEqual([
      [50, "Unavailable"],
    ]);
    expect(world.count("DescribeInstanceTopology")).toBe(2);
    // The cloud pauses for a moment, because parallel requests would ask twice.
    world.nowMs += 5000;
    expect(await labelsIn(cloud, [identified(50), identified(51)])).toMatchObject(["Unavailable", ZONE]);
    expect(world.count("DescribeInstanceTopology")).toBe(3);
    world.unknownToTopology.clear();
    world.nowMs += 10_000;
    expect(await labelsIn(cloud, [identified(50)])).toMatchObject([
      { "topology.k8s.aws/network-node-layer-3": "nn-3-50" },
    ]);
  });

  test.each<[string, (world: Ec2World) => void, number, number]>([
    ["one that the error does not name", (world) => (world.namesUnknown = false), 1, 15],
    ["all of them", () => {}, 100, 10],
  ])("unknown IDs are found in few requests: %s", async (_, change, unknown, requests) => {
    const world = aWorld(100);
    change(world);
    for (let number = 1; number <= unknown; number += 1) {
      world.unknownToTopology.add(identified(number).spec.providerID ?? "");
    }
    const nodes = Array.from({ length: 100 }, (_, index) => identified(index + 1));
    const labels = await labelsIn(world.cloud(), nodes);
    expect(labels.slice(0, unknown)).toEqual(Array(unknown).fill("Unavailable"));
    expect(labels.slice(unknown).filter((each) => typeof each === "string").length).toBeLessThanOrEqual(25);
    expect(world.count("DescribeInstanceTopology")).toBeLessThanOrEqual(requests);
  });

  test("that never arrives does not delay nodes that do not need it", async () => {
    const world = aWorld(2);
    world.instances.push(buildInstance(3));
    world.held.set("DescribeInstanceTopology", NEVER);
    const nodes = [identified(1), identified(2, OLD), identified(3)];
    // An instance that waited for it until the function's deadline would be reported as aborted.
    const { answers } = await world
      .cloud()
      .instances(nodes, buildCall({ signal: AbortSignal.timeout(120_000) }));
    expect(answers.map(labelsOrCode)).toEqual(["Unavailable", ZONE, ZONE]);
  });
});

describe("labels of nodes that have joined", () => {
  const PLACE = {
    "topology.k8s.aws/network-node-layer-1": "nn-1",
    "topology.k8s.aws/network-node-layer-2": "nn-2",
    "topology.k8s.aws/network-node-layer-3": "nn-3-1",
  };
  const joined = (labels: Readonly<Record<string, string>> = {}) => identified(1, { taints: [], labels });
  const everyRequest = { zones: 1, topology: 1 };
  const none = { zones: 0, topology: 0 };

  test.each<[string, "missing" | "all" | undefined, Record<string, string>, object, object]>([
    ["are not requested by default", undefined, {}, {}, none],
    ['are requested with "missing" if they are missing', "missing", {}, { ...ZONE, ...PLACE }, everyRequest],
    ['are not requested with "missing" if they exist', "missing", { ...ZONE, ...PLACE }, {}, none],
    ['are always requested with "all"', "all", { ...ZONE, ...PLACE }, { ...ZONE, ...PLACE }, everyRequest],
  ])("%s", async (_, labels, present, expected, requests) => {
    const world = aWorld();
    const { answers } = await world.cloud().instances([joined(present)], buildCall({ labels }));
    expect(answers.map(labelsOrCode)).toEqual([expected]);
    expect({
      zones: world.count("DescribeAvailabilityZones"),
      topology: world.count("DescribeInstanceTopology"),
    }).toEqual(requests);
  });

  test("never delay the other facts", async () => {
    const world = aWorld();
    world.errors.set("DescribeInstanceTopology", THROTTLE);
    world.errors.set("DescribeAvailabilityZones", THROTTLE);
    const { answers } = await world.cloud().instances([joined()], buildCall({ labels: "missing" }));
    expect(answers.map(labelsOrCode)).toEqual([{}]);
  });
});

describe("labels from tags", () => {
  const labelsFromTags = AwsCloudConfig.shape.labelsFromTags.parse([
    "team",
    { tag: "aws:autoscaling:groupName", label: "example.com/group" },
    "absent",
  ]);

  test("come from the configured tags", async () => {
    const world = aWorld(1, "m7g.large");
    const [instance] = world.instances;
    Object.assign(instance ?? {}, {
      Tags: [
        ...(instance?.Tags ?? []),
        { Key: "team", Value: "storage" },
        { Key: "aws:autoscaling:groupName", Value: "workers" },
        { Key: "other", Value: "x" },
      ],
    });
    expect(await labelsIn(world.cloud({ labelsFromTags }))).toEqual([
      { ...ZONE, team: "storage", "example.com/group": "workers" },
    ]);
    expect(aws.listLabels?.(buildConfig({ labelsFromTags }))).toEqual([
      "team",
      "example.com/group",
      "absent",
    ]);
  });

  test.each<[string, unknown, RegExp]>([
    ["a label reserved for Kubernetes", ["node.kubernetes.io/role"], /Kubernetes' own/],
    ["a label under k8s.io", [{ tag: "a", label: "k8s.io/a" }], /Kubernetes' own/],
    ["a label under a domain of k8s.io", [{ tag: "a", label: "x.k8s.io/a" }], /Kubernetes' own/],
    ["a label that EC2's facts already set", ["topology.k8s.aws/zone-id"], /are set from EC2's data/],
    ["a tag whose key is not a valid label", ["aws:autoscaling:groupName"], /label of its own/],
    ["an invalid label", [{ tag: "a", label: "-" }], /is refused: its name/],
    ["a duplicate label", ["a", { tag: "b", label: "a" }], /twice/],
    ["an empty tag", [{ tag: "", label: "a" }], /1 to 128 characters/],
    ["no list", "team", /a list of tag keys/],
    ["too many", Array.from({ length: 51 }, (_, index) => `t-${index}`), /50/],
  ])("refuse %s, with a reason", (_, labelsFromTags, words) => {
    const { error } = AwsCloudConfig.safeParse({
      provider: "aws",
      region: "eu-central-1",
      vpc: "vpc-1",
      labelsFromTags,
    });
    expect(error?.issues.map(({ path }) => path[0])).toContain("labelsFromTags");
    expect(error?.issues.map(({ message }) => message).join("; ")).toMatch(words);
  });
});
