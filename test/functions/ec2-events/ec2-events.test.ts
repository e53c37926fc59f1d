import { afterEach, describe, expect, test } from "vitest";
import {
  ACCOUNT,
  buildStateChange,
  type ClusterSpec,
  type Ec2EventsUnderTest,
  OTHER_ACCOUNT,
  startEc2Events,
  VPC,
} from "#test/functions/ec2-events/world.ts";
import { parseIdentity } from "#test/relay/report-builders.ts";

let world: Ec2EventsUnderTest;
afterEach(() => world?.close());

const tagOf = (cluster: string) => ({ [`kubernetes.io/cluster/${cluster}`]: "owned" });
const BLUE: ClusterSpec = { name: "blue", cloud: { clusterTag: "blue" } };
const GREEN: ClusterSpec = { name: "green", cloud: { clusterTag: "green" } };

async function start(...specs: readonly ClusterSpec[]): Promise<Ec2EventsUnderTest> {
  world = await startEc2Events(specs);
  return world;
}

interface JoinTraits {
  readonly name?: string;
  readonly providerID?: string | undefined;
  readonly annotation?: string;
}

async function join(cluster: string, id: string, traits: JoinTraits = {}): Promise<string> {
  const { name = `node-of-${id}`, annotation } = traits;
  const providerID = "providerID" in traits ? traits.providerID : `aws:///eu-central-1a/${id}`;
  const { metadata } = await world
    .api(cluster)
    .join({ name, ...(providerID === undefined ? {} : { providerID }) });
  if (annotation !== undefined)
    await world
      .api(cluster)
      .patch(name, [
        { op: "add", path: "/metadata/annotations", value: { "serverless-ccm.io/instance": annotation } },
      ]);
  return metadata.uid;
}

const addInstance = (tags: Record<string, string>, vpcId = VPC): string =>
  world.ec2.addInstance({ vpcId, tags }).id;
const changed = (id: string, state: string, more: object = {}) =>
  buildStateChange({ "instance-id": id, state }, more);
const sent = () =>
  world.invoked.map((event) => ({
    cluster: event.cluster,
    controller: event.controller,
    reason: event.reason,
    uids: event.objects.map((object) => parseIdentity(object).uid),
  }));
const dropped = () =>
  world.logged.filter(({ event }) => event === "InstanceChangeDropped").map(({ code }) => code);
const lookAt = (cluster: string, ...uids: string[]) => ({
  cluster,
  controller: "cloud-node-lifecycle-controller",
  reason: "monitor",
  uids,
});

describe("an instance that ends", () => {
  test.each(["stopping", "stopped", "shutting-down"] as const)(
    "%s: its node is looked at at once, and nothing is written",
    async (state) => {
      await start(BLUE);
      const id = addInstance(tagOf("blue"));
      world.ec2.setState(id, state);
      const uid = await join("blue", id);
      await join("blue", "i-0000000000000beef");
      expect(await world.send(changed(id, state))).toEqual({ instance: id, clusters: 1, nodes: 1 });
      expect(sent()).toEqual([lookAt("blue", uid)]);
      expect(world.invoked[0]).toMatchObject({ clusterHash: expect.stringMatching(/^[0-9a-f]{16}$/) });
      expect(world.writes()).toBe(0);
      expect(world.ec2.record().map(({ action }) => action)).toEqual(["DescribeInstances"]);
      expect(world.logged).toMatchObject([
        { event: "InstanceChanged", cluster: "blue", instance: id, state, objects: 1 },
      ]);
    },
  );

  test("in a VPC of two clusters belongs to the cluster of its tag", async () => {
    await start(BLUE, GREEN);
    const id = addInstance(tagOf("green"));
    await join("blue", id);
    const uid = await join("green", id);
    expect(await world.send(changed(id, "shutting-down"))).toMatchObject({ clusters: 1, nodes: 1 });
    expect(sent()).toEqual([lookAt("green", uid)]);
  });

  test("that two clusters share is looked at in both", async () => {
    await start(BLUE, GREEN);
    const id = addInstance({ ...tagOf("blue"), ...tagOf("green") });
    const uids = [await join("blue", id), await join("green", id)];
    await world.send(changed(id, "shutting-down"));
    expect(sent().toSorted((a, b) => (a.cluster < b.cluster ? -1 : 1))).toEqual([
      lookAt("blue", uids[0] ?? ""),
      lookAt("green", uids[1] ?? ""),
    ]);
  });

  test("terminated, without a VPC, is its tag's", async () => {
    await start(BLUE, GREEN);
    const id = addInstance(tagOf("blue"));
    world.ec2.terminate(id);
    const uid = await join("blue", id);
    await join("green", id);
    await world.send(changed(id, "terminated"));
    expect(sent()).toEqual([lookAt("blue", uid)]);
  });

  test.each([
    ["without VPC and tag", false],
    ["that EC2 has forgotten altogether", true],
  ])("terminated, %s, is that of the node that says so", async (_, isRemoved) => {
    await start(BLUE, { name: "green", cloud: { vpc: "vpc-0fedcba9876543210" } });
    const id = addInstance({});
    world.ec2.terminate(id);
    if (isRemoved) world.ec2.remove(id);
    const uid = await join("blue", id, { annotation: `${ACCOUNT}/${VPC}/${id}` });
    // Who names it by the provider ID alone, in another network or for another account, is not believed.
    await join("blue", id, { name: "by-provider-id" });
    await join("blue", id, { name: "of-another-account", annotation: `${OTHER_ACCOUNT}/${VPC}/${id}` });
    await join("green", id, { annotation: `${ACCOUNT}/${VPC}/${id}` });
    expect(await world.send(changed(id, "terminated"))).toEqual({ instance: id, clusters: 2, nodes: 1 });
    expect(sent()).toEqual([lookAt("blue", uid)]);
  });

  test("is found by the annotation of a node without provider ID, too", async () => {
    await start(BLUE);
    const id = addInstance(tagOf("blue"));
    const uid = await join("blue", id, { providerID: undefined, annotation: `${ACCOUNT}/${VPC}/${id}` });
    await world.send(changed(id, "shutting-down"));
    expect(sent()).toEqual([lookAt("blue", uid)]);
  });

  test("of a role's account is looked for with that role", async () => {
    const roleArn = `arn:aws:iam::${OTHER_ACCOUNT}:role/ccm`;
    await start(BLUE, { name: "green", cloud: { clusterTag: "green", roleArn } });
    const { id } = world.ec2.addInstance({ vpcId: VPC, tags: tagOf("green"), account: OTHER_ACCOUNT });
    const uid = await join("green", id);
    await world.send(changed(id, "shutting-down", { account: OTHER_ACCOUNT }));
    expect(sent()).toEqual([lookAt("green", uid)]);
    expect(world.ec2.assumedRoles()).toHaveLength(1);
  });
});

describe("nothing is invoked, and it is logged why,", () => {
  test.each<[string, (id: string) => unknown, string]>([
    ["of one that starts", (id) => changed(id, "running"), "NotEnding"],
    ["of another region", (id) => changed(id, "terminated", { region: "eu-west-1" }), "NoCluster"],
    [
      "of one that EC2 does not have",
      () => changed("i-0fffffffffffffff0", "shutting-down"),
      "InstanceNotFound",
    ],
    ["of one that no node is", (id) => changed(id, "shutting-down"), "NoNode"],
    [
      "of one that ended, and that no node names",
      () => changed("i-0fffffffffffffff0", "terminated"),
      "NoNode",
    ],
  ])("%s", async (_, event, code) => {
    await start(BLUE);
    const id = addInstance(tagOf("blue"));
    expect(await world.send(event(id))).toMatchObject({ nodes: 0, because: { code } });
    expect([sent(), dropped()]).toEqual([[], [code]]);
  });

  test("of an instance of someone else, whatever nodes claim", async () => {
    await start(BLUE);
    const id = addInstance(tagOf("theirs"));
    await join("blue", id, { annotation: `${ACCOUNT}/${VPC}/${id}` });
    for (const state of ["shutting-down", "terminated"] as const) {
      world.ec2.setState(id, state);
      await world.send(changed(id, state));
    }
    expect([sent(), dropped()]).toEqual([[], ["Foreign", "Foreign"]]);
  });

  test("where the cluster has no node lifecycle of ours", async () => {
    await start({ ...BLUE, controllers: ["cloud-node-controller"] });
    const id = addInstance(tagOf("blue"));
    await join("blue", id);
    await world.send(changed(id, "shutting-down"));
    expect([sent(), dropped()]).toEqual([[], ["NoNode"]]);
  });

  test("where the relay writes, and no function reads the nodes", async () => {
    await start({ ...BLUE, writes: "relay" });
    const id = addInstance(tagOf("blue"));
    await join("blue", id);
    await world.send(changed(id, "shutting-down"));
    expect([sent(), dropped()]).toEqual([[], ["NoNode"]]);
  });

  test("where EC2 does not say", async () => {
    await start(BLUE);
    const id = addInstance(tagOf("blue"));
    await join("blue", id);
    world.ec2.set({ denied: ["DescribeInstances"] });
    expect(await world.send(changed(id, "shutting-down"))).toMatchObject({ because: { code: "Denied" } });
    expect(sent()).toEqual([]);
  });
});

describe("what is refused", () => {
  test("is an account that no cluster is in", async () => {
    await start(BLUE);
    const event = changed("i-0123456789abcdef0", "terminated", { account: "999999999999" });
    await expect(world.send(event)).rejects.toThrow(/999999999999 is neither this function's nor/);
    expect(world.ec2.record()).toEqual([]);
    expect(world.logged).toMatchObject([
      { level: "error", event: "InvocationFailed", code: "Ec2EventRejected" },
    ]);
  });

  test.each([[undefined], [{}], ["rubbish"], [{ shard: { clusters: ["blue"] } }]])(
    "is %j, without any request",
    async (event) => {
      await start(BLUE);
      await expect(world.send(event)).rejects.toMatchObject({ code: "Ec2EventRejected" });
      expect([sent(), world.ec2.record()]).toEqual([[], []]);
    },
  );
});

describe("what fails", () => {
  test("in one cluster does not affect another", async () => {
    await start(BLUE, GREEN);
    const id = addInstance({ ...tagOf("blue"), ...tagOf("green") });
    const uid = await join("green", id);
    world.unreachable("blue");
    expect(await world.send(changed(id, "shutting-down"))).toMatchObject({ nodes: 1 });
    expect(sent()).toEqual([lookAt("green", uid)]);
    expect(world.logged).toContainEqual(
      expect.objectContaining({ event: "ReadFailed", cluster: "blue", code: "SignInUnusable" }),
    );
  });

  test("of the invocation is logged, and counts as nothing done", async () => {
    await start(BLUE);
    const id = addInstance(tagOf("blue"));
    await join("blue", id);
    world.answer({ kind: "failed", code: "Throttled", message: "too many", settleMs: 0 });
    expect(await world.send(changed(id, "shutting-down"))).toMatchObject({ nodes: 0 });
    expect(world.logged).toContainEqual(
      expect.objectContaining({ event: "InvocationFailed", cluster: "blue", code: "Throttled" }),
    );
  });

  test("starts nothing once the time is up", async () => {
    await start(BLUE);
    const id = addInstance(tagOf("blue"));
    await join("blue", id);
    await world.send(changed(id, "shutting-down"), { getRemainingTimeInMillis: () => 500 });
    expect([sent(), world.ec2.record()]).toEqual([[], []]);
  });
});
