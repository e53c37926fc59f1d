import { describe, expect, test } from "vitest";
import { createBudget } from "#clouds/aws/budget.ts";
import { LOAD_BALANCER_ACTIONS, LOAD_BALANCER_READS } from "#clouds/aws/load-balancers/commands.ts";
import { AWS_QUOTAS, getQuotaName, type Operation } from "#clouds/aws/quotas.ts";

function aBudget(share = 1) {
  const clock = { ms: 0 };
  const budget = createBudget(() => clock.ms);
  budget.enter(share);
  const takeAll = (operation: Operation): number => {
    let taken = 0;
    while (budget.take(operation) === undefined) taken += 1;
    return taken;
  };
  return { clock, budget, takeAll };
}

test.each<[Operation, number, number]>([
  ["DescribeSubnets", 100, 20],
  ["DescribeSecurityGroups", 100, 20],
  ["CreateTags", 100, 10],
  ["DeleteTags", 100, 10],
  ["CreateRoute", 50, 5],
  ["CreateSecurityGroup", 50, 5],
  ["AuthorizeSecurityGroupIngress", 50, 5],
  ["elbv2:DescribeTargetHealth", 36, 10],
  ["elbv2:RegisterTargets", 18, 4],
  ["elbv2:CreateListener", 36, 10],
  ["elb:DescribeLoadBalancers", 36, 10],
  ["elb:DeregisterInstancesFromLoadBalancer", 18, 4],
  ["elb:AddTags", 36, 10],
])("%s: %i at once, then %i a second", (operation, burst, perSecond) => {
  const { clock, takeAll } = aBudget();
  expect(takeAll(operation)).toBe(burst);
  clock.ms += 1000;
  expect(takeAll(operation)).toBe(perSecond);
});

test("a share of the account's quotas is a share of each", () => {
  const { takeAll } = aBudget(0.25);
  expect(takeAll("elbv2:CreateListener")).toBe(9);
  expect(takeAll("CreateRoute")).toBe(12);
});

test("a share of any size is enough for one indivisible group of calls", () => {
  expect(aBudget(0.25).takeAll("elbv2:DescribeTags")).toBe(20);
  expect(aBudget(0.75).takeAll("elb:DescribeTags")).toBe(27);
});

test.each<[Operation, Operation, boolean]>([
  ["elbv2:DescribeTags", "elbv2:DescribeListeners", true],
  ["elbv2:DescribeTags", "elb:DescribeTags", false],
  ["elbv2:DescribeTags", "elbv2:AddTags", false],
  ["elbv2:RegisterTargets", "elbv2:DeregisterTargets", true],
  ["elbv2:RegisterTargets", "elbv2:CreateListener", false],
  ["CreateRoute", "CreateSecurityGroup", true],
  ["CreateRoute", "AuthorizeSecurityGroupIngress", false],
  ["AuthorizeSecurityGroupIngress", "RevokeSecurityGroupIngress", true],
  ["CreateTags", "DeleteTags", false],
  ["DescribeInstances", "DescribeSubnets", false],
])("%s and %s spend from one quota: %s", (one, other, isOne) => {
  const { budget, takeAll } = aBudget();
  takeAll(one);
  expect(budget.take(other) !== undefined).toBe(isOne);
});

test("a throttle empties its quota, halves its refill, and leaves the others alone", () => {
  const { clock, budget, takeAll } = aBudget();
  budget.recordThrottle("elbv2:CreateListener");
  expect(budget.take("elbv2:CreateLoadBalancer")).toBe(200);
  expect(budget.take("elb:CreateLoadBalancer")).toBeUndefined();
  expect(budget.take("elbv2:DescribeTags")).toBeUndefined();
  expect(budget.take("DescribeInstances")).toBeUndefined();
  clock.ms += 1000;
  expect(takeAll("elbv2:CreateLoadBalancer")).toBe(5);
});

describe("every operation in use", () => {
  const operations = Object.keys({ ...LOAD_BALANCER_ACTIONS, ...LOAD_BALANCER_READS });
  test.each(operations)("%s has a quota", (name) => {
    const operation = (name.startsWith("ec2:") ? name.slice("ec2:".length) : name) as Operation;
    const quota = getQuotaName(operation);
    expect(AWS_QUOTAS[quota]).toBeDefined();
    expect(quota.includes("describing") || quota.startsWith("Describe")).toBe(/Describe/.test(name));
  });
});
