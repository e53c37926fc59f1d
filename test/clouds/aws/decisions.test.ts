import { expect, test } from "vitest";
import { decideNode } from "#core/node/decide.ts";
import { buildInstance, createAwsError, Ec2World, VPC } from "#test/clouds/aws/ec2-world.ts";
import { buildCall, buildNode, type NodeTraits } from "#test/clouds/builders.ts";

// From EC2's answers to decisions: what the operator learns, and what the cluster learns.
const ID = "i-00000000000000001";
const BORN = Date.parse("2026-01-01T00:00:00Z");
const THEIRS = { VpcId: "vpc-of-theirs", Tags: [{ Key: "kubernetes.io/cluster/theirs", Value: "owned" }] };
const HYBRID = "eks-hybrid:///eu-central-1/demo/mi-0123456789abcdef0";

async function decide(
  world: Ec2World,
  traits: NodeTraits,
  { ageSeconds = 5, reason = "watch" as "watch" | "refresh" } = {},
) {
  const node = buildNode(traits);
  const { answers } = await world.cloud().instances([node], buildCall());
  return decideNode(node, answers[0], { reason, now: new Date(BORN + ageSeconds * 1000) });
}

function aWorld(...instances: Parameters<typeof buildInstance>[1][]): Ec2World {
  const world = new Ec2World();
  world.instances.push(...instances.map((traits, index) => buildInstance(index + 1, traits)));
  return world;
}

test("an instance whose tag is not visible yet is read again soon, without a Warning, and then belongs to the node", async () => {
  const world = aWorld({ Tags: [] });
  const waiting = await decide(world, { providerID: ID });
  expect(waiting).toMatchObject({ kind: "retry", because: { code: "Foreign" }, events: [] });
  expect(waiting.kind === "retry" && waiting.afterSeconds).toBeLessThan(2);
  world.instances[0] = buildInstance(1);
  expect(await decide(world, { providerID: ID })).toMatchObject({
    kind: "change",
    because: { code: "Initialized" },
  });
});

test.each([5, 59, 60, 3600])(
  "a forged provider ID tells the cluster nothing about others' instances, at %d s",
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

test("only the operator sees EC2's message about a denied request", async () => {
  const world = aWorld({});
  const message = "User: arn:aws:sts::123456789012:assumed-role/ccm/demo is not authorized";
  world.errors.set("DescribeInstances", createAwsError("UnauthorizedOperation", 403, message));
  const decision = await decide(world, { providerID: ID }, { ageSeconds: 60 });
  expect(decision).toMatchObject({ kind: "retry", because: { message: expect.stringContaining(message) } });
  const absent = await decide(aWorld(), { providerID: ID }, { ageSeconds: 60 });
  expect({ ...decision, because: undefined }).toEqual({ ...absent, because: undefined });
});

test("a joined node of another provider is left alone, and the report says so", async () => {
  const joined = { providerID: HYBRID, taints: [] };
  expect(await decide(aWorld(), joined, { reason: "refresh", ageSeconds: 3600 })).toMatchObject({
    kind: "skip",
    because: { code: "ForeignProviderID", message: expect.stringContaining(HYBRID) },
  });
});

test("a waiting node of another provider gets an Event about its provider ID", async () => {
  expect(await decide(aWorld(), { providerID: HYBRID })).toMatchObject({
    kind: "retry",
    because: { code: "ForeignProviderID" },
    events: [{ reason: "CloudInitializationFailed", code: "ForeignProviderID" }],
  });
});
