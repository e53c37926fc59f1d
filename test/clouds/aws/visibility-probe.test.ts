import type { Instance as Ec2Instance } from "@aws-sdk/client-ec2";
import { describe, expect, test } from "vitest";
import type { AwsCloudConfig } from "#clouds/aws/config.ts";
import type { CloudCall } from "#clouds/cloud.ts";
import { ACCOUNT, buildInstance, createAwsError, Ec2World, VPC } from "#test/clouds/aws/ec2-world.ts";
import { buildCall, buildNode, type NodeTraits } from "#test/clouds/builders.ts";
import { formatAnswer } from "#test/clouds/conformance.ts";

const idOf = (number: number) => `i-${number.toString(16).padStart(17, "0")}`;
const nameOf = (number: number) => `ip-10-0-0-${number}.eu-central-1.compute.internal`;
const THEIRS = { Tags: [{ Key: "kubernetes.io/cluster/theirs", Value: "owned" }] };
const ALIVE: NodeTraits = { name: nameOf(2), providerID: idOf(2) };
const GONE: NodeTraits = { name: "some-node", providerID: idOf(9) };

async function ask(
  instances: readonly Ec2Instance[],
  nodes: readonly NodeTraits[],
  { config = {}, call = {}, world = new Ec2World() }: Asked = {},
) {
  world.instances.push(...instances);
  const { answers } = await world.cloud(config).instances(nodes.map(buildNode), buildCall(call));
  return { answers, requests: world.count("DescribeInstances") };
}

interface Asked {
  readonly config?: Partial<AwsCloudConfig>;
  readonly call?: Partial<CloudCall>;
  readonly world?: Ec2World;
}

const CONTROL = { call: { control: true } };

describe("the visibility probe of a missing instance", () => {
  test.each<[string, readonly Ec2Instance[], Partial<AwsCloudConfig>, string | undefined]>([
    ["is an instance of the cluster", [buildInstance(1)], {}, idOf(1)],
    ["may be a stopped instance", [buildInstance(1, { State: { Name: "stopped" } })], {}, idOf(1)],
    [
      "is an untagged instance in the VPC, with only a VPC configured",
      [buildInstance(1, { Tags: [] })],
      { clusterTag: undefined },
      idOf(1),
    ],
    [
      "is a tagged instance in any VPC, with only a tag configured",
      [buildInstance(1, { VpcId: "vpc-2" })],
      { vpc: undefined },
      idOf(1),
    ],
    [
      "is an instance with the legacy tag",
      [buildInstance(1, { Tags: [{ Key: "KubernetesCluster", Value: "demo" }] })],
      {},
      idOf(1),
    ],
    [
      "is not an instance of another cluster",
      [buildInstance(1, THEIRS)],
      { clusterTag: undefined },
      undefined,
    ],
    [
      "is not an instance with another cluster's legacy tag",
      [buildInstance(1, { Tags: [{ Key: "KubernetesCluster", Value: "theirs" }] })],
      {},
      undefined,
    ],
    ["is not an instance of another VPC", [buildInstance(1, { VpcId: "vpc-2" })], {}, undefined],
    [
      "is not an instance that is shutting down",
      [buildInstance(1, { State: { Name: "shutting-down" } })],
      {},
      undefined,
    ],
    ["is not a terminated instance", [buildInstance(1, { State: { Name: "terminated" } })], {}, undefined],
    ["is missing in an empty account", [], {}, undefined],
  ])("%s", async (_, instances, config, control) => {
    const { answers, requests } = await ask(instances, [GONE], { config, ...CONTROL });
    expect(answers).toEqual([
      {
        kind: "not-found",
        message: expect.any(String),
        ...(control === undefined ? {} : { control: expect.objectContaining({ id: control }) }),
      },
    ]);
    expect(requests).toBe(2);
  });

  test.each<[string, readonly NodeTraits[], number]>([
    ["an instance of the batch is the probe", [GONE, { name: "node", providerID: idOf(1) }], 1],
    ["all instances were found", [{ name: "node", providerID: idOf(1) }], 1],
    ["no instance is known to be missing", [{ providerID: "gce://p/z/i-1" }], 0],
  ])("takes no additional request: %s", async (_, nodes, expected) => {
    const { requests } = await ask([buildInstance(1)], nodes, CONTROL);
    expect(requests).toBe(expected);
  });

  test("of the batch is neither a terminated instance nor the missing one of another node", async () => {
    const ended = buildInstance(1, { State: { Name: "terminated" } });
    const { answers } = await ask([ended], [GONE, { name: "node", providerID: idOf(1) }], CONTROL);
    expect(answers.map(formatAnswer)).toEqual(["not-found", idOf(1)]);
    expect(answers[0]).not.toHaveProperty("control");
  });

  describe("of a node that was seen with an instance", () => {
    const seen = (place: string): NodeTraits => ({
      ...GONE,
      annotations: { "serverless-ccm.io/instance": `${place}/${idOf(9)}` },
    });
    const OTHER = "vpc-2";
    const apart = [
      ...Array.from({ length: 30 }, (_, index) => buildInstance(20 + index)),
      buildInstance(1, { VpcId: OTHER }),
    ];
    const tagged = { config: { vpc: undefined }, ...CONTROL };
    const controlOf = async (nodes: readonly NodeTraits[], asked: Asked) => {
      const world = new Ec2World();
      world.pageSize = 20;
      const { answers, requests } = await ask(apart, nodes, { ...asked, world });
      return { control: (answers[0] as { readonly control?: unknown }).control, requests };
    };

    test("is in the VPC where the node was seen, for a cluster in several", async () => {
      const region = "eu-central-1";
      expect(await controlOf([seen(`${ACCOUNT}/${OTHER}`)], tagged)).toEqual({
        control: { id: idOf(1), account: ACCOUNT, network: OTHER, region },
        requests: 3,
      });
      expect(await controlOf([seen(`${ACCOUNT}/${VPC}`)], tagged)).toEqual({
        control: { id: idOf(20), account: ACCOUNT, network: VPC, region },
        requests: 2,
      });
    });

    test("is an instance of the batch if the batch has one there, without another request", async () => {
      const mates = [1, 20].map((number) => ({ name: `mate-${number}`, providerID: idOf(number) }));
      for (const [vpc, id] of [
        [OTHER, idOf(1)],
        [VPC, idOf(20)],
      ] as const)
        expect(await controlOf([seen(`${ACCOUNT}/${vpc}`), ...mates], tagged)).toMatchObject({
          control: { id, network: vpc },
          requests: 1,
        });
    });

    test.each([
      ["another account", `999999999999/${VPC}`, tagged, 2],
      ["a VPC without one", `${ACCOUNT}/vpc-3`, tagged, 3],
      ["what is no VPC", `${ACCOUNT}/*`, tagged, 2],
      ["another VPC than the configured one", `${ACCOUNT}/${OTHER}`, CONTROL, 2],
    ])("proves nothing if the node was seen in %s", async (_, place, asked, requests) => {
      expect(await controlOf([seen(place)], asked)).toMatchObject({
        control: { account: ACCOUNT, network: VPC },
        requests,
      });
    });

    test("is searched in at most three VPCs", async () => {
      const nodes = Array.from({ length: 10 }, (_, index) => seen(`${ACCOUNT}/vpc-9${index}`));
      expect((await controlOf(nodes, tagged)).requests).toBe(2 + 3);
    });
  });

  test.each([
    ["fails", createAwsError("InternalError", 500)],
    ["is throttled", createAwsError("RequestLimitExceeded", 503)],
    ["is denied", createAwsError("UnauthorizedOperation", 403)],
  ])("is left out if its request %s, and the answer stays", async (_, error) => {
    const world = new Ec2World();
    world.later = { after: 1, error };
    const { answers } = await ask([buildInstance(1)], [GONE], { world, ...CONTROL });
    expect(answers).toEqual([{ kind: "not-found", message: expect.any(String) }]);
  });

  test("does not distinguish another cluster's instance from a missing one: both take as many requests", async () => {
    const none = await ask([buildInstance(1)], [GONE], CONTROL);
    const theirs = await ask([buildInstance(1), buildInstance(9, THEIRS)], [GONE], CONTROL);
    expect(theirs.answers.map(formatAnswer)).toEqual(["Foreign"]);
    expect(theirs.requests).toBe(none.requests);
  });

  test("may be the network interface of a Fargate node", async () => {
    const world = new Ec2World();
    world.interfaces.push({
      NetworkInterfaceId: "eni-1",
      OwnerId: ACCOUNT,
      VpcId: VPC,
      AvailabilityZone: "eu-central-1a",
      PrivateIpAddress: "10.0.0.7",
      Attachment: { Status: "attached" },
    });
    const fargate = { name: "fargate", providerID: "aws:///eu-central-1a/x/fargate-10.0.0.7" };
    const { answers, requests } = await ask([], [GONE, fargate], { world, ...CONTROL });
    expect(answers[0]).toMatchObject({
      kind: "not-found",
      control: { id: "eni-1", account: ACCOUNT, network: VPC, region: "eu-central-1" },
    });
    expect(requests).toBe(1);
  });
});

describe("a terminated instance without VPC and tags", () => {
  const { VpcId: _vpc, ...without } = buildInstance(1, { State: { Name: "terminated" }, Tags: [] });
  const annotated = (value: string) => ({
    name: "node",
    providerID: idOf(1),
    annotations: { "serverless-ccm.io/instance": value },
  });
  test.each<[string, Ec2Instance, string, Partial<AwsCloudConfig>, string]>([
    ["belongs to the node whose annotation names it", without, `${ACCOUNT}/${VPC}/${idOf(1)}`, {}, idOf(1)],
    [
      "belongs to the node whose annotation names it, with only a VPC configured",
      without,
      `${ACCOUNT}/${VPC}/${idOf(1)}`,
      { clusterTag: undefined },
      idOf(1),
    ],
    [
      "is not found if the annotation names another account",
      without,
      `210987654321/${VPC}/${idOf(1)}`,
      {},
      "not-found",
    ],
    [
      "is not found if the annotation names another VPC",
      without,
      `${ACCOUNT}/vpc-2/${idOf(1)}`,
      {},
      "not-found",
    ],
    [
      "is not found if the annotation names another ID",
      without,
      `${ACCOUNT}/${VPC}/${idOf(2)}`,
      {},
      "not-found",
    ],
    ["is not found if the annotation is invalid", without, `${ACCOUNT}/${VPC}/${idOf(1)}/`, {}, "not-found"],
    [
      "is not found without a configured VPC",
      without,
      `${ACCOUNT}/${VPC}/${idOf(1)}`,
      { vpc: undefined },
      "not-found",
    ],
    [
      "is not found if it has another cluster's tag",
      { ...without, ...THEIRS },
      `${ACCOUNT}/${VPC}/${idOf(1)}`,
      {},
      "not-found",
    ],
  ])("%s", async (_, instance, annotation, config, expected) => {
    const { answers } = await ask([instance], [annotated(annotation)], { config });
    expect(answers.map(formatAnswer)).toEqual([expected]);
    if (expected === idOf(1)) expect(answers).toMatchObject([{ instance: { state: "terminated" } }]);
  });

  test("does not prove ownership of an existing instance", async () => {
    const theirs = buildInstance(1, { VpcId: "vpc-2", ...THEIRS });
    const { answers } = await ask([theirs], [annotated(`${ACCOUNT}/${VPC}/${idOf(1)}`)]);
    expect(answers.map(formatAnswer)).toEqual(["Foreign"]);
  });
});

describe("the replacement instance with the name of a missing one", () => {
  const gone = { name: nameOf(1), providerID: idOf(9) };
  test.each<[string, NodeTraits, readonly Ec2Instance[], string | undefined]>([
    ["is reported", gone, [buildInstance(1)], idOf(1)],
    [
      "is not reported while it is starting",
      gone,
      [buildInstance(1, { State: { Name: "pending" } })],
      undefined,
    ],
    ["is not reported if it belongs to another cluster", gone, [buildInstance(1, THEIRS)], undefined],
    [
      "is not reported if two have the name",
      gone,
      [buildInstance(1), buildInstance(2, { PrivateDnsName: nameOf(1) })],
      undefined,
    ],
    [
      "is not reported for a name without a domain",
      { ...gone, name: "node-1" },
      [buildInstance(1)],
      undefined,
    ],
    [
      "is not reported for a node without a provider ID",
      { name: "ip-10-0-0-9.corp" },
      [buildInstance(1)],
      undefined,
    ],
  ])("%s", async (_, node, instances, takenOverBy) => {
    const { answers } = await ask(instances, [node]);
    expect(answers).toEqual([
      {
        kind: "not-found",
        message: expect.any(String),
        ...(takenOverBy === undefined ? {} : { takenOverBy }),
      },
    ]);
  });

  test("is looked up for all such nodes of a batch at once, and for no others", async () => {
    const ended = Array.from({ length: 50 }, (_, index) =>
      buildInstance(100 + index, {
        State: { Name: "terminated" },
        PrivateDnsName: "",
        PrivateIpAddress: undefined,
      }),
    );
    const heirs = Array.from({ length: 50 }, (_, index) => buildInstance(1 + index));
    const nodes = ended.map((_, index) => ({ name: nameOf(1 + index), providerID: idOf(100 + index) }));
    const taken = await ask([...ended, ...heirs], nodes);
    expect(taken.answers).toMatchObject(
      heirs.map(({ InstanceId: takenOverBy }) => ({ kind: "found", takenOverBy })),
    );
    expect(taken.requests).toBe(2);
    const alive = heirs.map((_, index) => ({ name: nameOf(1 + index), providerID: idOf(1 + index) }));
    expect((await ask(heirs, alive)).requests).toBe(1);
  });

  const ended = buildInstance(9, { State: { Name: "terminated" }, PrivateDnsName: "" });
  test.each<[string, readonly Ec2Instance[]]>([
    ["does not exist", [buildInstance(1)]],
    ["is terminated", [buildInstance(1), ended]],
    ["belongs to another cluster", [buildInstance(1), buildInstance(9, THEIRS)]],
  ])("that cannot be read makes the answer an error for a node whose instance %s", async (_, instances) => {
    const world = new Ec2World();
    world.later = { after: 1, error: createAwsError("RequestLimitExceeded", 503) };
    const { answers } = await ask([...instances, buildInstance(2)], [gone, ALIVE], { world });
    expect(answers.map(formatAnswer)).toEqual(["Throttled", idOf(2)]);
  });
});
