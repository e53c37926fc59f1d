import { expect, test } from "vitest";
import { createBudget } from "#clouds/aws/budget.ts";
import { createLoadBalancers } from "#clouds/aws/load-balancers/capability.ts";
import type { CloudCall } from "#clouds/cloud.ts";
import { buildConfig } from "#test/clouds/aws/ec2-world.ts";
import { buildQuestion } from "#test/clouds/aws/load-balancers/moto-world.ts";

const UID = "0b6a5cd4-6f6c-4b7f-9d3c-1f2e3d4c5b6a";
const NAME = `a${UID.replaceAll("-", "")}`.slice(0, 32);
const OWNED = [
  { Key: "kubernetes.io/cluster/demo", Value: "owned" },
  { Key: "kubernetes.io/service-name", Value: "default/web" },
];
const GROUPS = ["one", "two", "three"].map((name) => ({ TargetGroupArn: name, LoadBalancerArns: ["lb"] }));

/** A load balancer of three ports in AWS's answers. */
const ANSWERS: Readonly<Record<string, (request: { readonly ResourceArns?: readonly string[] }) => object>> =
  {
    "elbv2:DescribeLoadBalancers": () => ({
      LoadBalancers: [{ LoadBalancerArn: "lb", LoadBalancerName: NAME }],
    }),
    "elb:DescribeLoadBalancers": () => ({ LoadBalancerDescriptions: [] }),
    "elbv2:DescribeTargetGroups": () => ({ TargetGroups: GROUPS }),
    "elbv2:DescribeTags": ({ ResourceArns = [] }) => ({
      TagDescriptions: ResourceArns.map((ResourceArn) => ({ ResourceArn, Tags: OWNED })),
    }),
    "elbv2:DescribeLoadBalancerAttributes": () => ({ Attributes: [] }),
    "elbv2:DescribeListeners": () => ({ Listeners: [] }),
    "elbv2:DescribeTargetGroupAttributes": () => ({ Attributes: [] }),
    "elbv2:DescribeTargetHealth": () => ({ TargetHealthDescriptions: [] }),
    "ec2:DescribeSubnets": () => ({ Subnets: [] }),
    "ec2:DescribeRouteTables": () => ({ RouteTables: [] }),
    "ec2:DescribeSecurityGroups": () => ({ SecurityGroups: [] }),
    "ec2:DescribeAvailabilityZones": () => ({ AvailabilityZones: [] }),
  };

/** A process with its own clock: sleepers wake in order of time, once no other work is left. */
function aProcess() {
  let nowMs = 0;
  const sleeping: { readonly atMs: number; readonly wake: () => void }[] = [];
  const sleep = async (delayMs: number): Promise<void> => {
    const { promise, resolve } = Promise.withResolvers<void>();
    sleeping.push({ atMs: nowMs + delayMs, wake: resolve });
    sleeping.sort((a, b) => a.atMs - b.atMs);
    await promise;
  };
  const during = async <Result>(work: Promise<Result>): Promise<Result> => {
    let isDone = false;
    const done = work.finally(() => {
      isDone = true;
    });
    while (!isDone) {
      await new Promise(setImmediate);
      const next = isDone ? undefined : sleeping.shift();
      if (next === undefined) continue;
      nowMs = next.atMs;
      next.wake();
    }
    return done;
  };
  const now = (): number => nowMs;
  let calls = 0;
  const world = {
    cluster: { ...buildConfig({ vpc: "vpc-1" }), clusterName: "demo" },
    budget: createBudget(now),
    sleep,
    now,
    wallClock: now,
    credentials: () => undefined,
  };
  const capability = createLoadBalancers(world, {
    call: async (operation, parameters) => {
      calls += 1;
      const answer = ANSWERS[operation];
      if (answer === undefined) throw new Error(`${operation} is not answered here`);
      return answer(parameters);
    },
    close: () => {},
  });
  return {
    observe: async (share: number, question: unknown = buildQuestion(UID)) => {
      const call: CloudCall = { signal: new AbortController().signal, share };
      const { answers } = await during(capability.observe([question], call));
      return answers[0]?.kind === "observed" ? "observed" : JSON.stringify(answers[0]);
    },
    wait: (seconds: number) => {
      nowMs += seconds * 1_000;
    },
    calls: () => calls,
  };
}

test.each([0.05, 0.1, 1])("a new process observes a load balancer with a share of %f", async (share) => {
  expect(await aProcess().observe(share)).toBe("observed");
});

test("the floor's share is enough to observe a load balancer repeatedly, and no call is wasted", async () => {
  const { observe, wait, calls } = aProcess();
  const seen: boolean[] = [];
  const spent: number[] = [];
  for (let times = 0; times < 60; times += 1) {
    const before = calls();
    seen.push((await observe(0.05)) === "observed");
    if (seen.at(-1) === false) spent.push(calls() - before);
    wait(3);
  }
  expect(seen.filter((isSeen) => isSeen).length).toBeGreaterThanOrEqual(4);
  expect(seen.slice(-15)).toContain(true);
  expect(new Set(spent)).toEqual(new Set([0]));
});

test("at the smallest share load balancers are counted right after one was observed", async () => {
  const { observe } = aProcess();
  expect(await observe(0.05)).toBe("observed");
  expect(await observe(0.05, { holdings: true, balancersAlone: true })).toBe("observed");
});
