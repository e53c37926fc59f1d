import { expect, test } from "vitest";
import { decideNode } from "#core/node/decide.ts";
import { anInstance, awsError, Ec2World, VPC } from "#test/clouds/aws/ec2-world.ts";
import { aCall, aNode, type NodeTraits } from "#test/clouds/builders.ts";

// From what EC2 says to what is decided: what the operator is told, and what the cluster.
const ID = "i-00000000000000001";
const BORN = Date.parse("2026-01-01T00:00:00Z");
const THEIRS = { VpcId: "vpc-of-theirs", Tags: [{ Key: "kubernetes.io/cluster/theirs", Value: "owned" }] };
const HYBRID = "eks-hybrid:///eu-central-1/demo/mi-0123456789abcdef0";

async function decide(
  world: Ec2World,
  traits: NodeTraits,
  { ageSeconds = 5, reason = "watch" as "watch" | "refresh" } = {},
) {
  const node = aNode(traits);
  const { answers } = await world.cloud().instances([node], aCall());
  return decideNode(node, answers[0], { reason, now: new Date(BORN + ageSeconds * 1000) });
}

function aWorld(...instances: Parameters<typeof anInstance>[1][]): Ec2World {
  const world = new Ec2World();
  world.instances.push(...instances.map((traits, index) => anInstance(index + 1, traits)));
  return world;
}

test("an instance whose tag cannot be seen yet is asked for again soon, without a Warning, and then is the node's", async () => {
  const world = aWorld({ Tags: [] });
  const waiting = await decide(world, { providerID: ID });
  expect(waiting).toMatchObject({ kind: "retry", because: { code: "Foreign" }, events: [] });
  expect(waiting.kind === "retry" && waiting.afterSeconds).toBeLessThan(2);
  world.instances[0] = anInstance(1);
  expect(await decide(world, { providerID: ID })).toMatchObject({
    kind: "change",
    because: { code: "Initialized" },
  });
});

test.each([5, 59, 60, 3600])(
  "a forged provider ID tells the cluster nothing of others' instances, at %d s",
  async (ageSeconds) => {
    const foreign = await decide(aWorld(THEIRS), { providerID: ID }, { ageSeconds });
    const absent = await decide(aWorld(), { providerID: ID }, { ageSeconds });
    expect(foreign.because.code).toBe("Foreign");
    for (const side of [VPC, "vpc-of-theirs", "kubernetes.io/cluster/theirs"]) {
      expect(foreign.because.message).toContain(side);
    }
    expect({ ...foreign, because: undefined }).toEqual({ ...absent, because: undefined });
  },
);

test("what EC2 says with a refusal is the operator's alone", async () => {
  const world = aWorld({});
  const message = "User: arn:aws:sts::123456789012:assumed-role/ccm/demo is not authorized";
  world.errors.set("DescribeInstances", awsError("UnauthorizedOperation", 403, message));
  const decision = await decide(world, { providerID: ID }, { ageSeconds: 60 });
  expect(decision).toMatchObject({ kind: "retry", because: { message: expect.stringContaining(message) } });
  const absent = await decide(aWorld(), { providerID: ID }, { ageSeconds: 60 });
  expect({ ...decision, because: undefined }).toEqual({ ...absent, because: undefined });
});

test("another provider's node that has joined is left alone, and that is said in the report", async () => {
  const joined = { providerID: HYBRID, taints: [] };
  expect(await decide(aWorld(), joined, { reason: "refresh", ageSeconds: 3600 })).toMatchObject({
    kind: "skip",
    because: { code: "ForeignProviderID", message: expect.stringContaining(HYBRID) },
  });
});

test("another provider's node that waits is told that it waits in vain", async () => {
  expect(await decide(aWorld(), { providerID: HYBRID })).toMatchObject({
    kind: "retry",
    because: { code: "ForeignProviderID" },
    events: [{ reason: "CloudInitializationFailed", code: "ForeignProviderID" }],
  });
});
