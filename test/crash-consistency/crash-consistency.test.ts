import {
  CreateTargetGroupCommand,
  DeleteLoadBalancerCommand,
} from "@aws-sdk/client-elastic-load-balancing-v2";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type AwsWorld, createAwsWorld } from "#test/clouds/aws/load-balancer-world.ts";
import { createForeignLoadBalancer } from "#test/crash-consistency/aws/foreign.ts";
import { describeWithBoth, describeWithPart } from "#test/setup/parts.ts";
import { OPERATIONS, type Operation } from "./aws/operations.ts";
import { playDisturbances } from "./enumerate.ts";
import { createLifeline } from "./lifeline.ts";
import { createKubeApiserverStage, type Stage, startStage } from "./stage.ts";

// A sample of `npm run test:crash-consistency`: every tenth disturbance of a few operations.

const EVERY = 10;
const TIMEOUT_MS = 180_000;

describeWithPart("moto", "killed functions", (program) => {
  let stage: Stage<AwsWorld>;
  beforeAll(async () => {
    stage = await startStage(() => createAwsWorld(program));
  });
  afterAll(() => stage?.close());

  test.each([
    "NLB: create",
    "NLB, Managed: other ports",
    "CLB: type ClusterIP",
    "NLB, shared backend group: three Services deleted",
  ])(
    "reach the same end state after a restart: %s",
    async (name) => {
      const result = await playDisturbances(stage, operationNamed(name), {
        chosen: (_, index) => index % EVERY === 0,
      });
      expect(result.issues).toEqual([]);
      expect(result).toMatchObject({ orphans: 0, foreignTouched: 0, same: result.runs });
      expect(result.runs).toBeGreaterThan(2);
    },
    TIMEOUT_MS,
  );

  test(
    "detects leftovers and changes of foreign resources",
    async () => {
      let invoked = 0;
      const lives = new Set<object>();
      const harmful: Stage<AwsWorld> = Object.create(stage, {
        invoke: {
          value: async (options: Parameters<Stage["invoke"]>[0]) => {
            // A lifeline belongs to one run and begins with it.
            const { lifeline } = options ?? {};
            const isFirst = lifeline !== undefined && options?.reason === undefined && !lives.has(lifeline);
            if (lifeline !== undefined) lives.add(lifeline);
            if (isFirst) invoked += 1;
            if (isFirst && invoked === 2) await leaveOver(stage);
            if (isFirst && invoked === 3) await touch(stage);
            return stage.invoke(options);
          },
        },
      });
      const result = await playDisturbances(harmful, operationNamed("NLB: type ClusterIP"), {
        chosen: (_, index) => index < 2,
      });
      // The foreign target group counts twice: as lost with its old content, and as added with its new
      // content.
      expect(result).toMatchObject({ runs: 2, same: 0, orphans: 2, foreignTouched: 2 });
      expect(result.issues.join("\n")).toContain("there is {");
      expect(result.issues.join("\n")).toContain("there is no {");
    },
    TIMEOUT_MS,
  );
});

describeWithBoth("killed functions", (binaries, program) => {
  let stage: Stage<AwsWorld>;
  beforeAll(async () => {
    stage = await startStage(() => createAwsWorld(program), createKubeApiserverStage(binaries));
  }, TIMEOUT_MS);
  afterAll(() => stage?.close());

  test.each(["NLB, Managed: create", "CLB: delete"])(
    "reach the same end state on a real API server: %s",
    async (name) => {
      const result = await playDisturbances(stage, operationNamed(name), {
        chosen: (_, index) => index % (2 * EVERY) === 3,
      });
      expect(result.issues).toEqual([]);
      expect(result).toMatchObject({ orphans: 0, foreignTouched: 0, same: result.runs });
      expect(result.runs).toBeGreaterThan(0);
    },
    TIMEOUT_MS,
  );
});

test.each([
  { phase: "landed", answered: [true, false] },
  { phase: "answered", answered: [true, true] },
] as const)(
  "a process that is killed when its second change was $phase makes no further change",
  ({ phase, answered }) => {
    const at = { on: "cloud", change: 2, phase } as const;
    const { gate, changes, isKilled } = createLifeline({ kind: "killed", at });
    const change = { what: "ec2:CreateTags", isChange: true };
    const read = { what: "ec2:DescribeVpcs", isChange: false };
    expect([gate.leave(change), gate.leave(read), gate.leave(change)]).toEqual([
      answered[0],
      true,
      answered[1],
    ]);
    expect(isKilled()).toBe(true);
    expect([gate.enter(change), gate.leave(change), gate.leave(read)]).toEqual(["reset", false, false]);
    expect(changes).toHaveLength(2);
  },
);

test.each([
  { kind: "throttled", entered: ["pass", "Throttled", "pass"], left: [true, true, true] },
  { kind: "answer lost", entered: ["pass", "pass", "pass"], left: [true, false, true] },
] as const)("a process whose second change is $kind continues", ({ kind, entered, left }) => {
  const { gate, hasMet, isKilled } = createLifeline({ kind, change: 2 });
  const change = { what: "ec2:CreateTags", isChange: true };
  const answers = [1, 2, 3].map(() => [gate.enter(change), gate.leave(change)] as const);
  expect(answers.map(([verdict]) => verdict)).toEqual(entered);
  expect(answers.map(([, answered]) => answered)).toEqual(left);
  expect([hasMet(), isKilled()]).toEqual([true, false]);
});

function operationNamed(name: string): Operation {
  const found = OPERATIONS.find((operation) => operation.name === name);
  if (found === undefined) throw new Error(`there is no operation "${name}"`);
  return found;
}

async function leaveOver({ world: { aws, network } }: Stage<AwsWorld>): Promise<void> {
  await aws.elbv2.send(
    new CreateTargetGroupCommand({ Name: "left-over", Protocol: "TCP", Port: 1, VpcId: network.vpc }),
  );
}

async function touch({ world: { aws } }: Stage<AwsWorld>): Promise<void> {
  const LoadBalancerArn = await createForeignLoadBalancer(aws);
  await aws.elbv2.send(new DeleteLoadBalancerCommand({ LoadBalancerArn }));
}
