import { expect, test } from "vitest";
import { createBudget } from "#clouds/aws/budget.ts";
import { AwsCloudConfig } from "#clouds/aws/config.ts";
import { buildQuotas, type Operation } from "#clouds/aws/quotas.ts";

const BASE = { provider: "aws", region: "eu-central-1", vpc: "vpc-1" };

/** Returns the calls at once, and in the second after that, of a cluster with these quotas. */
function spend(quotas: object | undefined, operation: Operation): readonly number[] {
  const clock = { ms: 0 };
  const config = AwsCloudConfig.parse(quotas === undefined ? BASE : { ...BASE, quotas });
  const budget = createBudget(() => clock.ms, buildQuotas(config.quotas));
  budget.enter(1);
  const takeAll = (): number => {
    let taken = 0;
    while (budget.take(operation) === undefined) taken += 1;
    return taken;
  };
  const atOnce = takeAll();
  clock.ms += 1_000;
  return [atOnce, takeAll()];
}

const GIVEN = {
  "elbv2 registering": { burst: 60, refillPerSecond: 12 },
  "elbv2 describing": { burst: 10, refillPerSecond: 3 },
  "elb changing": { burst: 1, refillPerSecond: 1 },
  DescribeInstances: { burst: 200, refillPerSecond: 40 },
  "ec2 mutating": { burst: 10, refillPerSecond: 2 },
};

test.each<[string, object | undefined, Operation, readonly number[]]>([
  ["default quotas", undefined, "elbv2:RegisterTargets", [18, 4]],
  ["a larger quota leaves a tenth free", GIVEN, "elbv2:RegisterTargets", [54, 12]],
  ["a quota applies to all its operations", GIVEN, "elbv2:DeregisterTargets", [54, 12]],
  ["a quota below one indivisible group of calls allows one group", GIVEN, "elbv2:DescribeTags", [9, 3]],
  ["a quota of one call allows one call", GIVEN, "elb:CreateLoadBalancer", [1, 1]],
  ["EC2's quota is used whole", GIVEN, "DescribeInstances", [200, 40]],
  ["one quota of several operations", GIVEN, "CreateRoute", [10, 2]],
  ["AWS's default for a quota that is not configured", GIVEN, "elbv2:CreateListener", [36, 10]],
])("%s", (_, quotas, operation, expected) => {
  expect(spend(quotas, operation)).toEqual(expected);
});

test("with a budget of smaller quotas, an indivisible group of calls begins when its bucket is full", () => {
  const budget = createBudget(() => 0, buildQuotas(AwsCloudConfig.parse({ ...BASE, quotas: GIVEN }).quotas));
  expect(budget.getWaitMs("elbv2:DescribeLoadBalancers", 2_000)).toBeUndefined();
});

test.each([
  ["quotas.RegisterTargets", { RegisterTargets: { burst: 1, refillPerSecond: 1 } }],
  ["quotas.CreateTags.refillPerSecond", { CreateTags: { burst: 1 } }],
  ["quotas.CreateTags.refillPerSecond", { CreateTags: { burst: 1, refillPerSecond: 0 } }],
  ["quotas.CreateTags.burst", { CreateTags: { burst: 0, refillPerSecond: 1 } }],
  ["quotas.CreateTags.burst", { CreateTags: { burst: 1.5, refillPerSecond: 1 } }],
  ["quotas.CreateTags", { CreateTags: { burst: 1, refillPerSecond: 1, wholeBurst: 1 } }],
  ["quotas", []],
])("%s is rejected if it cannot be valid", (path, quotas) => {
  const parsed = AwsCloudConfig.safeParse({ ...BASE, quotas });
  expect(parsed.error?.issues.map((issue) => issue.path.join("."))).toEqual([path]);
});

test("an unknown name is rejected with the list of known names", () => {
  const parsed = AwsCloudConfig.safeParse({
    ...BASE,
    quotas: { "elbv2:RegisterTargets": { burst: 1, refillPerSecond: 1 } },
  });
  expect(JSON.stringify(parsed.error?.issues)).toContain("elbv2 registering");
});
