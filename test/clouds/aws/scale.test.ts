import { expect, test } from "vitest";
import { buildInstance, createAwsError, Ec2World } from "#test/clouds/aws/ec2-world.ts";
import { buildCall, buildNode } from "#test/clouds/builders.ts";
import { formatAnswer } from "#test/clouds/conformance.ts";

function aWorldOf(count: number) {
  const world = new Ec2World();
  for (let number = 0; number < count; number += 1) world.instances.push(buildInstance(number));
  const ids = world.instances.map(({ InstanceId: id = "" }) => id);
  const byId = ids.map((id) => buildNode({ name: `node-${id}`, providerID: `aws:///eu-central-1a/${id}` }));
  const byName = world.instances.map(({ PrivateDnsName: name = "" }) => buildNode({ name }));
  return { world, ids, byId, byName };
}

test("1,000 nodes without provider ID, all at once, take 6 requests: EC2 counts the values of all filters of a call", async () => {
  const { world, ids, byName } = aWorldOf(1000);
  const { answers, usage } = await world.cloud().instances(byName, buildCall());
  expect(answers.map(formatAnswer)).toEqual(ids);
  expect(usage.calls["DescribeInstances"]).toBe(6);
  expect(world.count("DescribeInstances")).toBe(6);
});

test.each(["byName", "byId"] as const)("1,000 nodes %s in batches of 100 take 10 requests", async (how) => {
  const { world, ids, [how]: nodes } = aWorldOf(1000);
  const cloud = world.cloud();
  const found: string[] = [];
  for (let start = 0; start < nodes.length; start += 100) {
    const { answers } = await cloud.instances(nodes.slice(start, start + 100), buildCall());
    found.push(...answers.map(formatAnswer));
  }
  expect(found).toEqual(ids);
  expect(world.count("DescribeInstances")).toBe(10);
  expect(world.count("DescribeAvailabilityZones")).toBe(1);
});

test("one missing ID among 100 does not affect the 99, and takes no additional request", async () => {
  const { world, ids, byId } = aWorldOf(100);
  world.instances.splice(50, 1);
  const { answers } = await world.cloud().instances(byId, buildCall());
  expect(answers.map(formatAnswer)).toEqual(ids.with(50, "not-found"));
  expect(world.count("DescribeInstances")).toBe(1);
});

test("a listing of several pages is one listing", async () => {
  const { world, ids, byId } = aWorldOf(100);
  world.pageSize = 30;
  const { answers } = await world.cloud().instances(byId, buildCall());
  expect(answers.map(formatAnswer)).toEqual(ids);
  expect(world.count("DescribeInstances")).toBe(4);
});

test("a batch spends no more than its share, and waits for it at most five seconds", async () => {
  const { world, byName } = aWorldOf(1000);
  const cloud = world.cloud();
  const answers = [];
  for (let round = 0; round < 40; round += 1) {
    answers.push((await cloud.instances(byName.slice(0, 1), buildCall({ share: 0.01 }))).answers[0]);
  }
  // One in the bucket, and one every five seconds: a hundredth of twenty a second.
  expect(answers.map(formatAnswer).filter((each) => each === "Throttled")).toEqual([]);
  expect(world.waitedMs).toBeGreaterThanOrEqual(39 * 5000);
});

test("a longer wait is refused at once, and no request is sent", async () => {
  const { world, byName } = aWorldOf(1);
  const cloud = world.cloud();
  await cloud.instances(byName, buildCall({ share: 0.005 }));
  const { answers, usage } = await cloud.instances(byName, buildCall({ share: 0.005 }));
  expect(answers.map(formatAnswer)).toEqual(["Throttled"]);
  expect(usage).toEqual({ calls: {}, throttled: 0, waitedMs: 0 });
  expect(world.count("DescribeInstances")).toBe(1);
});

test("an abort while waiting for the share ends the wait as throttled", async () => {
  const { world, byName } = aWorldOf(1);
  const abort = new AbortController();
  const cloud = world.cloud({}, { sleep: async () => abort.abort() });
  await cloud.instances(byName, buildCall({ share: 0.01 }));
  const { answers } = await cloud.instances(byName, buildCall({ share: 0.01, signal: abort.signal }));
  expect(answers.map(formatAnswer)).toEqual(["Throttled"]);
});

test("after a throttle the next batch waits, instead of asking at once", async () => {
  const { world, ids, byName } = aWorldOf(1);
  const cloud = world.cloud();
  world.errors.set("DescribeInstances", createAwsError("RequestLimitExceeded", 503));
  const throttled = await cloud.instances(byName, buildCall());
  world.errors.clear();
  const { answers, usage } = await cloud.instances(byName, buildCall());
  expect(throttled.usage).toMatchObject({ calls: { DescribeInstances: 1 }, throttled: 1 });
  expect(answers.map(formatAnswer)).toEqual(ids);
  // The bucket is empty and fills at half of twenty a second.
  expect(usage.waitedMs).toBe(100);
});
