import type { Instance as Ec2Instance } from "@aws-sdk/client-ec2";
import { describe, expect, test } from "vitest";
import type { AwsCloudConfig } from "#clouds/aws/kind.ts";
import type { CloudCall } from "#clouds/cloud.ts";
import { ACCOUNT, anInstance, awsError, Ec2World, VPC } from "#test/clouds/aws/ec2-world.ts";
import { aCall, aNode, type NodeTraits } from "#test/clouds/builders.ts";
import { summary } from "#test/clouds/conformance.ts";

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
  const { answers } = await world.cloud(config).instances(nodes.map(aNode), aCall(call));
  return { answers, requests: world.count("DescribeInstances") };
}

interface Asked {
  readonly config?: Partial<AwsCloudConfig>;
  readonly call?: Partial<CloudCall>;
  readonly world?: Ec2World;
}

const CONTROL = { call: { control: true } };

describe("the control of what is not found", () => {
  test.each<[string, readonly Ec2Instance[], Partial<AwsCloudConfig>, string | undefined]>([
    ["is an instance of the cluster", [anInstance(1)], {}, idOf(1)],
    ["is a stopped one as well", [anInstance(1, { State: { Name: "stopped" } })], {}, idOf(1)],
    ["is one in the VPC alone", [anInstance(1, { Tags: [] })], { clusterTag: undefined }, idOf(1)],
    ["is one with the tag alone", [anInstance(1, { VpcId: "vpc-2" })], { vpc: undefined }, idOf(1)],
    [
      "is one with the legacy tag",
      [anInstance(1, { Tags: [{ Key: "KubernetesCluster", Value: "demo" }] })],
      {},
      idOf(1),
    ],
    ["is none of another cluster", [anInstance(1, THEIRS)], { clusterTag: undefined }, undefined],
    [
      "is none of another cluster's with the legacy tag",
      [anInstance(1, { Tags: [{ Key: "KubernetesCluster", Value: "theirs" }] })],
      {},
      undefined,
    ],
    ["is none of another VPC", [anInstance(1, { VpcId: "vpc-2" })], {}, undefined],
    ["is none that is shutting down", [anInstance(1, { State: { Name: "shutting-down" } })], {}, undefined],
    ["is none that has ended", [anInstance(1, { State: { Name: "terminated" } })], {}, undefined],
    ["is not there where nothing is", [], {}, undefined],
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
    ["one that the batch found", [GONE, { name: "node", providerID: idOf(1) }], 1],
    ["nothing where all was found", [{ name: "node", providerID: idOf(1) }], 1],
    ["nothing where nothing is known to be missed", [{ providerID: "gce://p/z/i-1" }], 0],
  ])("takes no request more for %s", async (_, nodes, expected) => {
    const { requests } = await ask([anInstance(1)], nodes, CONTROL);
    expect(requests).toBe(expected);
  });

  test("of the batch is none that has ended, or is the sought one of another node", async () => {
    const ended = anInstance(1, { State: { Name: "terminated" } });
    const { answers } = await ask([ended], [GONE, { name: "node", providerID: idOf(1) }], CONTROL);
    expect(answers.map(summary)).toEqual(["not-found", idOf(1)]);
    expect(answers[0]).not.toHaveProperty("control");
  });

  describe("of a node that was seen with an instance", () => {
    const seen = (place: string): NodeTraits => ({
      ...GONE,
      annotations: { "serverless-ccm.io/instance": `${place}/${idOf(9)}` },
    });
    const OTHER = "vpc-2";
    const apart = [
      ...Array.from({ length: 30 }, (_, index) => anInstance(20 + index)),
      anInstance(1, { VpcId: OTHER }),
    ];
    const tagged = { config: { vpc: undefined }, ...CONTROL };
    const controlOf = async (nodes: readonly NodeTraits[], asked: Asked) => {
      const world = new Ec2World();
      world.pageSize = 20;
      const { answers, requests } = await ask(apart, nodes, { ...asked, world });
      return { control: (answers[0] as { readonly control?: unknown }).control, requests };
    };

    test("is in the VPC that it was seen in, of a cluster that is in several", async () => {
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

    test("is one of the batch where that has one there, at no cost", async () => {
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
      ["a VPC that has none", `${ACCOUNT}/vpc-3`, tagged, 3],
      ["what is no VPC", `${ACCOUNT}/*`, tagged, 2],
      ["another VPC than the configured one", `${ACCOUNT}/${OTHER}`, CONTROL, 2],
    ])("is one that proves nothing where it was seen in %s", async (_, place, asked, requests) => {
      expect(await controlOf([seen(place)], asked)).toMatchObject({
        control: { account: ACCOUNT, network: VPC },
        requests,
      });
    });

    test("is looked for in three VPCs at the most", async () => {
      const nodes = Array.from({ length: 10 }, (_, index) => seen(`${ACCOUNT}/vpc-9${index}`));
      expect((await controlOf(nodes, tagged)).requests).toBe(2 + 3);
    });
  });

  test.each([
    ["fails", awsError("InternalError", 500)],
    ["is throttled", awsError("RequestLimitExceeded", 503)],
    ["is denied", awsError("UnauthorizedOperation", 403)],
  ])("is left out where its request %s, and the answer stays", async (_, error) => {
    const world = new Ec2World();
    world.later = { after: 1, error };
    const { answers } = await ask([anInstance(1)], [GONE], { world, ...CONTROL });
    expect(answers).toEqual([{ kind: "not-found", message: expect.any(String) }]);
  });

  test("is of no use to tell somebody else's instance from none: both take as many requests", async () => {
    const none = await ask([anInstance(1)], [GONE], CONTROL);
    const theirs = await ask([anInstance(1), anInstance(9, THEIRS)], [GONE], CONTROL);
    expect(theirs.answers.map(summary)).toEqual(["Foreign"]);
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

describe("an instance that has ended, of which VPC and tags are forgotten", () => {
  const { VpcId: _vpc, ...without } = anInstance(1, { State: { Name: "terminated" }, Tags: [] });
  const annotated = (value: string) => ({
    name: "node",
    providerID: idOf(1),
    annotations: { "serverless-ccm.io/instance": value },
  });
  test.each<[string, Ec2Instance, string, Partial<AwsCloudConfig>, string]>([
    ["was the node's, as the node says", without, `${ACCOUNT}/${VPC}/${idOf(1)}`, {}, idOf(1)],
    [
      "with the VPC alone configured",
      without,
      `${ACCOUNT}/${VPC}/${idOf(1)}`,
      { clusterTag: undefined },
      idOf(1),
    ],
    ["of another account", without, `210987654321/${VPC}/${idOf(1)}`, {}, "not-found"],
    ["of another VPC", without, `${ACCOUNT}/vpc-2/${idOf(1)}`, {}, "not-found"],
    ["another id", without, `${ACCOUNT}/${VPC}/${idOf(2)}`, {}, "not-found"],
    ["more than an identity", without, `${ACCOUNT}/${VPC}/${idOf(1)}/`, {}, "not-found"],
    [
      "without a VPC to compare with",
      without,
      `${ACCOUNT}/${VPC}/${idOf(1)}`,
      { vpc: undefined },
      "not-found",
    ],
    [
      "with another cluster's tag",
      { ...without, ...THEIRS },
      `${ACCOUNT}/${VPC}/${idOf(1)}`,
      {},
      "not-found",
    ],
  ])("%s", async (_, instance, annotation, config, expected) => {
    const { answers } = await ask([instance], [annotated(annotation)], { config });
    expect(answers.map(summary)).toEqual([expected]);
    if (expected === idOf(1)) expect(answers).toMatchObject([{ instance: { state: "terminated" } }]);
  });

  test("is not believed of one that is there", async () => {
    const theirs = anInstance(1, { VpcId: "vpc-2", ...THEIRS });
    const { answers } = await ask([theirs], [annotated(`${ACCOUNT}/${VPC}/${idOf(1)}`)]);
    expect(answers.map(summary)).toEqual(["Foreign"]);
  });
});

describe("whoever has taken the name of an instance that is gone", () => {
  const gone = { name: nameOf(1), providerID: idOf(9) };
  test.each<[string, NodeTraits, readonly Ec2Instance[], string | undefined]>([
    ["is named", gone, [anInstance(1)], idOf(1)],
    [
      "is not named while it is only starting",
      gone,
      [anInstance(1, { State: { Name: "pending" } })],
      undefined,
    ],
    ["is not named where it is another cluster's", gone, [anInstance(1, THEIRS)], undefined],
    [
      "is nobody where two have it",
      gone,
      [anInstance(1), anInstance(2, { PrivateDnsName: nameOf(1) })],
      undefined,
    ],
    ["is nobody for a name without a domain", { ...gone, name: "node-1" }, [anInstance(1)], undefined],
    ["is nobody for a node without provider ID", { name: "ip-10-0-0-9.corp" }, [anInstance(1)], undefined],
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

  test("is looked up for all such nodes of a batch at once, and for none otherwise", async () => {
    const ended = Array.from({ length: 50 }, (_, index) =>
      anInstance(100 + index, {
        State: { Name: "terminated" },
        PrivateDnsName: "",
        PrivateIpAddress: undefined,
      }),
    );
    const heirs = Array.from({ length: 50 }, (_, index) => anInstance(1 + index));
    const nodes = ended.map((_, index) => ({ name: nameOf(1 + index), providerID: idOf(100 + index) }));
    const taken = await ask([...ended, ...heirs], nodes);
    expect(taken.answers).toMatchObject(
      heirs.map(({ InstanceId: takenOverBy }) => ({ kind: "found", takenOverBy })),
    );
    expect(taken.requests).toBe(2);
    const alive = heirs.map((_, index) => ({ name: nameOf(1 + index), providerID: idOf(1 + index) }));
    expect((await ask(heirs, alive)).requests).toBe(1);
  });

  const ended = anInstance(9, { State: { Name: "terminated" }, PrivateDnsName: "" });
  test.each<[string, readonly Ec2Instance[]]>([
    ["is not there", [anInstance(1)]],
    ["has ended", [anInstance(1), ended]],
    ["is another cluster's", [anInstance(1), anInstance(9, THEIRS)]],
  ])("is not nobody where it cannot be told of a node whose instance %s", async (_, instances) => {
    const world = new Ec2World();
    world.later = { after: 1, error: awsError("RequestLimitExceeded", 503) };
    const { answers } = await ask([...instances, anInstance(2)], [gone, ALIVE], { world });
    expect(answers.map(summary)).toEqual(["Throttled", idOf(2)]);
  });
});
